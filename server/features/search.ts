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
 * if the first rows are not enough and more follow, so that not every name with an "a" is read and
 * sorted. The last row that is looked at is kept even if its name does not match: if it is in the
 * result, more rows may follow.
 */
export function selectNamed(db: Tx, { q, inOrder, byKeys, order, count }: NameSearch): Fragment {
  // Every name has it, and the index of names no key of it.
  if (q === '') return inOrder(count)
  return db`
    with first as materialized (
      select listed.*
      from (
        select walked.*, row_number() over (order by ${order}) as ordinal
        from (
          ${inOrder(ROWS_IN_ORDER)}
        ) walked
      ) listed
      where ${hasPart(db, db`listed.name`, q)}
        or listed.ordinal = ${ROWS_IN_ORDER}
      order by ${order}
      limit ${count}
    ),
    rest as (
      select
      from first
      where first.ordinal = ${ROWS_IN_ORDER}
    )
    select first.*
    from first
    where not exists (select from rest)
    union all
    (
      select keyed.*, null
      from (${byKeys}) keyed
      where exists (select from rest)
        and ${hasPart(db, db`keyed.name`, q)}
      order by ${order}
      limit ${count}
    )`
}
