import { Avatar } from '../playground/avatar.tsx'
import { isId } from './is-id.ts'
import { addressOf, useRoute } from './route.ts'
import { SearchBox } from './search-box.tsx'
import { api } from './server.ts'
import { type Column, PagedTable } from './table.tsx'
import type { User } from './types.ts'
import { usePages } from './use-pages.ts'
import { When } from './when.tsx'

/** The users of an app, by name. */
export function Users({ appId }: { appId: string }) {
  const q = useRoute().query.get('q') ?? ''
  const pages = usePages(async (cursor) => {
    const [{ users, nextCursor }, named] = await Promise.all([
      api.inspect.users({ appId, q: q || undefined, cursor }),
      cursor === undefined && isId(q) ? api.inspect.users({ appId, userId: q }) : { users: [] },
    ])
    // The one with this id comes first, whatever their name, and on no page again.
    return { rows: [...named.users, ...users.filter(({ id }) => id !== q)], nextCursor }
  }, `${appId} ${q}`)
  return (
    <>
      <div className="search">
        <SearchBox
          label="Search users"
          placeholder="Part of a name, or an id"
          value={q}
          addressOf={(text) => addressOf(['apps', appId, 'users'], { q: text.trim() })}
        />
      </div>
      <PagedTable
        label="Users"
        columns={columnsOf(appId)}
        pages={pages}
        keyOf={({ id }) => id}
        isStacked
        empty={q === '' ? 'No users yet.' : `No user has “${q}” in their name, or as their id.`}
      />
    </>
  )
}

const columnsOf = (appId: string): Column<User>[] => [
  {
    title: 'User',
    cell: ({ id, name, online }) => (
      <span className="user">
        <Avatar id={id} name={name} size="small" /> {name}
        {online && <span className="badge badge-good">Online</span>}
      </span>
    ),
  },
  { title: 'Id', cell: ({ id }) => <span className="id">{id}</span> },
  {
    title: 'Last active',
    cell: ({ lastActiveAt }) => <When iso={lastActiveAt} />,
    isMinor: true,
  },
  {
    title: '',
    cell: ({ id }) => (
      <div className="actions">
        <a href={addressOf(['apps', appId, 'channels'], { userId: id })}>Channels</a>
        <a href={addressOf(['apps', appId, 'users', id])}>Notifications</a>
      </div>
    ),
  },
]
