import type { Fragment, Tx } from '../../db/client.ts'
import { decodeCursor } from '../cursors.ts'
import { selectNamed } from '../search.ts'

/** The users `u` after a cursor, by name. */
export function namedAfter(db: Tx, cursor: string | undefined) {
  if (cursor === undefined) return db`true`
  const [name, id] = decodeCursor(cursor)
  return db`(u.display_name, u.id) > (${name}, ${id})`
}

type UserSearch = {
  appId: string
  q: string
  cursor: string | undefined
  limit: number
  offset: number
}

/** Selects the ids of the users with `q` in their name, those of one page of the list. */
export function selectNamedIds(db: Tx, { appId, q, cursor, limit, offset }: UserSearch): Fragment {
  const inOrder = (rows: number) => db`
    select u.id, u.display_name as name
    from users u
    where u.app_id = ${appId}
      and u.deleted_at is null
      and ${namedAfter(db, cursor)}
    order by u.display_name, u.id
    limit ${rows}`
  const byKeys = db`
    select u.id, u.display_name as name
    from users_named(${appId}, ${q}) u
    where ${namedAfter(db, cursor)}`
  const order = db`name, id`
  return db`
    select named.id
    from (${selectNamed(db, { q, inOrder, byKeys, order, count: limit + offset })}) named
    order by ${order}
    offset ${offset}`
}
