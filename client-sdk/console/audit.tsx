import { addressOf, replaceAddress, useRoute } from './route.ts'
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
  const actor = useRoute().query.get('actor') ?? ''
  const pages = usePages(async (cursor) => {
    const filter = { cursor, ...(isActor(actor) && { actor }) }
    const { entries, nextCursor } = await (appId === undefined
      ? api.audit.list(filter)
      : api.audit.listOfApp({ appId, ...filter }))
    return { rows: entries, nextCursor }
  }, `${appId} ${actor}`)
  const path = appId === undefined ? ['audit'] : ['apps', appId, 'audit']
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
          onChange={({ target }) => replaceAddress(addressOf(path, { actor: target.value }))}
        >
          <option value="">By anybody</option>
          {Object.entries(actors).map(([name, title]) => (
            <option key={name} value={name}>
              {title}
            </option>
          ))}
        </select>
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
