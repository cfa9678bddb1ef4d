import { isId } from './is-id.ts'
import { addressOf, replaceAddress, useRoute } from './route.ts'
import { SearchBox } from './search-box.tsx'
import { api } from './server.ts'
import { type Column, PagedTable } from './table.tsx'
import type { AuditEntry } from './types.ts'
import { usePages } from './use-pages.ts'
import { When } from './when.tsx'

const actors = { operator: 'Operator', key: 'API key', user: 'User', system: 'Server' } as const
type Actor = keyof typeof actors
const isActor = (name: string): name is Actor => name in actors

/** Who did what: in one app, or in all. */
export function Audit({ appId }: { appId?: string }) {
  const { query } = useRoute()
  const [actor, userId] = [query.get('actor') ?? '', query.get('user') ?? '']
  const pages = usePages(async (cursor) => {
    // Nobody has such an id.
    if (userId !== '' && !isId(userId)) return { rows: [], nextCursor: null }
    const filter = { cursor, userId: userId || undefined, ...(isActor(actor) && { actor }) }
    const { entries, nextCursor } = await (appId === undefined
      ? api.audit.list(filter)
      : api.audit.listOfApp({ appId, ...filter }))
    return { rows: entries, nextCursor }
  }, `${appId} ${actor} ${userId}`)
  const path = appId === undefined ? ['audit'] : ['apps', appId, 'audit']
  const filtered = (filter: Record<string, string>) =>
    addressOf(path, { actor, user: userId, ...filter })
  return (
    <>
      {appId === undefined && (
        <header className="page-head">
          <h2>Audit log</h2>
        </header>
      )}
      <div className="search">
        <select
          className="input"
          aria-label="Who"
          value={actor}
          onChange={({ target }) => replaceAddress(filtered({ actor: target.value }))}
        >
          <option value="">By anybody</option>
          {Object.entries(actors).map(([name, title]) => (
            <option key={name} value={name}>
              {title}
            </option>
          ))}
        </select>
        <SearchBox
          label="Acting user"
          placeholder="Id of the user who did it"
          value={userId}
          addressOf={(text) => filtered({ user: text.trim() })}
        />
      </div>
      <PagedTable
        label="Audit log"
        columns={appId === undefined ? [...columns, appColumn] : columns}
        pages={pages}
        keyOf={({ id }) => id}
        empty="Nothing has been noted."
      />
    </>
  )
}

const columns: Column<AuditEntry>[] = [
  { title: 'When', cell: ({ createdAt }) => <When iso={createdAt} isExact /> },
  { title: 'Who', cell: ({ actor }) => whoOf(actor) },
  { title: 'What', cell: ({ operation }) => <code>{operation}</code> },
  { title: 'Of what', cell: ({ target }) => <Target target={target} />, isMinor: true },
  {
    title: 'Request',
    cell: ({ requestId }) => <span className="id">{requestId}</span>,
    isMinor: true,
  },
]
const appColumn: Column<AuditEntry> = {
  title: 'App',
  cell: ({ appId }) =>
    appId === null ? null : <a href={addressOf(['apps', appId])}>{appId.slice(-12)}</a>,
}

function whoOf({ type, userId, keyId }: AuditEntry['actor']) {
  const name = userId ?? keyId
  return name === null ? actors[type] : `${actors[type]} ${name}`
}

const Target = ({ target }: { target: AuditEntry['target'] }) => (
  <dl className="facts">
    {Object.entries(target).map(([name, value]) => (
      <div key={name}>
        <dt>{name}</dt>
        <dd>{typeof value === 'string' ? value : JSON.stringify(value)}</dd>
      </div>
    ))}
  </dl>
)
