import { limits, type User } from '@parley/contract'
import type { Tx } from '../../db/client.ts'
import { encodeCursor, toPage } from '../cursors.ts'
import { namedAfter, selectNamedIds } from './search.ts'
import { selectListed, selectListedById } from './view.ts'

type UsersPage = {
  appId: string
  limit: number
  offset: number
  cursor?: string | undefined
  /** A part of the name. */
  q?: string | undefined
}

/** A page of the users of an app, by name. */
export async function listUsers(db: Tx, { appId, limit, offset, cursor, q }: UsersPage) {
  const rows = { limit: limit + 1, offset }
  const which = db`
    ${namedAfter(db, cursor)}
    order by u.display_name, u.id
    limit ${rows.limit}
    offset ${offset}`
  const listed =
    q === undefined
      ? await selectListed(db, { appId, which })
      : await selectListedById(db, {
          appId,
          ids: db`array(${selectNamedIds(db, { appId, q, cursor, ...rows })})`,
        })
  return toUsersPage(listed, limit)
}

/** Users by their ids: those without room in an answer are on the next page. */
export async function listUsersById(
  db: Tx,
  { appId, ids, cursor }: Pick<UsersPage, 'appId' | 'cursor'> & { ids: string[] },
) {
  const listed = await selectListedById(db, {
    appId,
    ids: db`${ids}`,
    which: namedAfter(db, cursor),
  })
  return toUsersPage(listed, limits.page.users.max)
}

function toUsersPage(listed: User[], limit: number) {
  const { page, nextCursor } = toPage(listed, limit, ({ name, id }) => encodeCursor(name, id))
  return { users: page, nextCursor }
}
