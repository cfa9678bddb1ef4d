import { isId } from './is-id.ts'
import { addressOf, replaceAddress, useRoute } from './route.ts'
import { SearchBox } from './search-box.tsx'
import { api } from './server.ts'
import { endOf, ShortId } from './short-id.tsx'
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
        columns={appId === undefined ? columnsOfAll : columns}
        pages={pages}
        keyOf={({ id }) => id}
        empty="Nothing has been noted."
      />
    </>
  )
}

const columnsWith = (what: Column<AuditEntry>): Column<AuditEntry>[] => [
  { title: 'When', cell: ({ createdAt }) => <When iso={createdAt} isExact /> },
  { title: 'Who', cell: ({ actor }) => <Who {...actor} /> },
  what,
  { title: 'Of what', cell: ({ target }) => <Target target={target} />, isMinor: true },
  {
    title: 'Request',
    cell: ({ requestId }) => <span className="id">{requestId}</span>,
    isMinor: true,
  },
]
const columns = columnsWith({ title: 'What', cell: ({ operation }) => <code>{operation}</code> })
/** On a narrow screen the app is below what was done there: both have room for one line. */
const columnsOfAll: Column<AuditEntry>[] = [
  ...columnsWith({
    title: 'What',
    cell: ({ operation, appId }) => (
      <>
        <code>{operation}</code>
        <span className="narrow-only">
          <AppLink appId={appId} />
        </span>
      </>
    ),
  }),
  { title: 'App', cell: ({ appId }) => <AppLink appId={appId} />, isMinor: true },
]

const AppLink = ({ appId }: Pick<AuditEntry, 'appId'>) =>
  appId === null ? null : (
    <a className="short-id" href={addressOf(['apps', appId])} title={appId}>
      {endOf(appId)}
    </a>
  )

const Who = ({ type, userId, keyId }: AuditEntry['actor']) => (
  <>
    {actors[type]} {userId}
    {userId === null && keyId !== null && <ShortId id={keyId} />}
  </>
)

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
