import { isoOf } from './format.ts'
import { isId } from './is-id.ts'
import { addressOf, replaceAddress, useRoute } from './route.ts'
import { SearchBox } from './search-box.tsx'
import { api } from './server.ts'
import { ShortId } from './short-id.tsx'
import { type Column, PagedTable, Refresh } from './table.tsx'
import type { AppRecord, AuditEntry } from './types.ts'
import { useData } from './use-data.ts'
import { usePages } from './use-pages.ts'
import { When } from './when.tsx'

const actors = { operator: 'Operator', key: 'API key', user: 'User', system: 'Server' } as const
type Actor = keyof typeof actors
const isActor = (name: string): name is Actor => Object.hasOwn(actors, name)

/** The audit log of all apps. */
export function AuditOfAll() {
  const { data: apps = [] } = useData(listAllApps, { key: 'apps' })
  return (
    <>
      <header className="page-head">
        <h2>Audit log</h2>
      </header>
      <Audit apps={apps} />
    </>
  )
}

/** For their names: a page has a thousand. */
async function listAllApps() {
  const all: AppRecord[] = []
  for (let cursor: string | undefined; ; ) {
    const { apps, nextCursor } = await api.apps.list({ cursor })
    all.push(...apps)
    if (nextCursor === null) return all
    cursor = nextCursor
  }
}

/** The audit log of one app. */
export const AuditOfApp = ({ app }: { app: AppRecord }) => <Audit apps={[app]} appId={app.id} />

/** `apps` are those whose names are known. */
function Audit({ apps, appId }: { apps: AppRecord[]; appId?: string }) {
  const { query } = useRoute()
  const filter = {
    actor: query.get('actor') ?? '',
    user: query.get('user') ?? '',
    operation: query.get('operation') ?? '',
    target: query.get('target') ?? '',
    before: query.get('before') ?? '',
  }
  const pages = usePages(
    async (cursor) => {
      const { actor, user, operation, target, before } = filter
      // Nobody has such an id.
      if (user !== '' && !isId(user)) return { rows: [], nextCursor: null }
      const by = {
        cursor,
        userId: user || undefined,
        operation: operation || undefined,
        targetId: target || undefined,
        createdBefore: isoOf(before),
        ...(isActor(actor) && { actor }),
      }
      const { entries, nextCursor } = await (appId === undefined
        ? api.audit.list(by)
        : api.audit.listOfApp({ appId, ...by }))
      return { rows: entries, nextCursor }
    },
    JSON.stringify([appId, filter]),
  )
  const path = appId === undefined ? ['audit'] : ['apps', appId, 'audit']
  const filtered = (change: Partial<typeof filter>) => addressOf(path, { ...filter, ...change })
  return (
    <>
      <div className="search">
        <select
          className="input"
          aria-label="Who"
          value={filter.actor}
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
          value={filter.user}
          addressOf={(text) => filtered({ user: text.trim() })}
        />
        <SearchBox
          label="Operation"
          placeholder="Operation, like members.remove"
          value={filter.operation}
          offered={[...new Set(pages.rows.map(({ operation }) => operation))]}
          addressOf={(text) => filtered({ operation: text.trim() })}
        />
        <SearchBox
          label="Of what"
          placeholder="Id of whom or what it was done to"
          value={filter.target}
          addressOf={(text) => filtered({ target: text.trim() })}
        />
        <SearchBox
          label="Before"
          type="datetime-local"
          value={filter.before}
          addressOf={(text) => filtered({ before: text })}
        />
        <Refresh reload={pages.reload} />
      </div>
      <PagedTable
        label="Audit log"
        columns={columnsOf({ apps, appId })}
        pages={pages}
        keyOf={({ id }) => id}
        isStacked
        empty="Nothing has been noted."
      />
    </>
  )
}

type Known = { apps: AppRecord[]; appId: string | undefined }

const columnsOf = ({ apps, appId }: Known): Column<AuditEntry>[] => [
  { title: 'When', cell: ({ createdAt }) => <When iso={createdAt} isExact /> },
  { title: 'Who', cell: ({ actor }) => <Who {...actor} apps={apps} /> },
  { title: 'What', cell: ({ operation }) => <code>{operation}</code> },
  ...(appId === undefined
    ? [{ title: 'App', cell: (entry: AuditEntry) => <AppLink appId={entry.appId} apps={apps} /> }]
    : []),
  { title: 'Of what', cell: (entry) => <Target entry={entry} />, isMinor: true },
]

const AppLink = ({ appId, apps }: { appId: string | null; apps: AppRecord[] }) =>
  appId === null ? (
    <span className="muted">–</span>
  ) : (
    <a href={addressOf(['apps', appId])} title={appId}>
      {apps.find(({ id }) => id === appId)?.name ?? <ShortId id={appId} />}
    </a>
  )

const Who = ({ type, userId, keyId, apps }: AuditEntry['actor'] & { apps: AppRecord[] }) => (
  <>
    {actors[type]} {keyId !== null && <KeyName keyId={keyId} apps={apps} />}
    {userId !== null && (type === 'key' ? ` as ${userId}` : userId)}
  </>
)

const KeyName = ({ keyId, apps }: { keyId: string; apps: AppRecord[] }) => {
  const key = apps.flatMap(({ keys }) => keys).find(({ id }) => id === keyId)
  return key?.name ? <span title={keyId}>“{key.name}”</span> : <ShortId id={keyId} />
}

const MOST_VALUES = 5

const Target = ({ entry }: { entry: AuditEntry }) => (
  <dl className="facts">
    {factsOf(entry).map(([name, value]) => (
      <div key={name}>
        <dt>{name}</dt>
        <dd>
          {Array.isArray(value) ? (
            <Values values={value.map(textOf)} />
          ) : (
            <Value text={textOf(value)} />
          )}
        </dd>
      </div>
    ))}
  </dl>
)

/** With the request that did it: its id leads to the lines of the log. */
function factsOf({ operation, target, requestId }: AuditEntry) {
  const facts = Object.entries({ ...target, ...(requestId !== null && { requestId }) })
  // A reading that found no message has no first and last one. Elsewhere null is what was set.
  return operation === 'inspect.messages' ? facts.filter(([, value]) => value !== null) : facts
}

const ID_LENGTH = 36

/** A text as short as an id stays on one line, so that it can be compared and found. */
const Value = ({ text }: { text: string }) => (
  <span className={text.length <= ID_LENGTH ? 'id nowrap' : 'id'}>{text}</span>
)

/** A list may have a thousand users. */
const Values = ({ values }: { values: string[] }) =>
  values.length <= MOST_VALUES ? (
    values.join(', ')
  ) : (
    <details>
      <summary>
        {values.slice(0, MOST_VALUES).join(', ')} and {values.length - MOST_VALUES} more
      </summary>
      {values.slice(MOST_VALUES).join(', ')}
    </details>
  )

const textOf = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value))
