import type { Fragment, Tx } from '../db/client.ts'
import { hasPart } from '../db/sql.ts'

/** How many rows of a list are looked at, in its order, before its index of names is used. */
const ROWS_IN_ORDER = 2_000

type NameSearch = {
  /** A part of the name. */
  q: string
  /** Selects the first `rows` of a list, in its order, with their `name`. */
  inOrder: (rows: number) => Fragment
  /** The same columns of the rows with the keys of `q`, by the index of names, in no order. */
  byKeys: Fragment
  /** The order of the list, by columns of the rows. */
  order: Fragment
  /** How many rows to find. */
  count: number
}

/**
 * Selects the first rows of a list that have `q` in their name. A part that many names have is
 * found by looking at the first rows. One that few names have is found by the index of names: only
 * if the first rows are not enough, so that not all the names with an "a" are read and sorted.
 */
export function selectNamed(db: Tx, { q, inOrder, byKeys, order, count }: NameSearch): Fragment {
  // Every name has it, and the index of names no key of it.
  if (q === '') return inOrder(count)
  return db`
    with first as materialized (
      select listed.*
      from (
        ${inOrder(ROWS_IN_ORDER)}
      ) listed
      where ${hasPart(db, db`listed.name`, q)}
      order by ${order}
      limit ${count}
    )
    select first.*
    from first
    where (select count(*) from first) = ${count}
    union all
    (
      select keyed.*
      from (${byKeys}) keyed
      where (select count(*) from first) < ${count}
        and ${hasPart(db, db`keyed.name`, q)}
      order by ${order}
      limit ${count}
    )`
}
