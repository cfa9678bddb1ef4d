import { addressOf } from './route.ts'
import { api } from './server.ts'
import { ShortId } from './short-id.tsx'
import { type Column, NotFound, PagedTable, ProblemNote, Refresh, Table } from './table.tsx'
import type { Delivery, Webhook } from './types.ts'
import { useData } from './use-data.ts'
import { usePages } from './use-pages.ts'
import { When } from './when.tsx'

/** The webhooks of an app. Its backend makes and changes them. */
export function Webhooks({ appId }: { appId: string }) {
  const { data, problem, reload } = useData(() => api.inspect.webhooks({ appId }), { key: appId })
  if (problem) return <ProblemNote problem={problem} onRetry={reload} />
  if (data?.webhooks.length === 0)
    return <p className="empty">No webhooks. The backend of the app makes them.</p>
  const rows = data?.webhooks ?? []
  return <Table label="Webhooks" columns={columnsOf(appId)} rows={rows} keyOf={({ id }) => id} />
}

const columnsOf = (appId: string): Column<Webhook>[] => [
  {
    title: 'Address',
    cell: ({ id, url }) => <a href={addressOf(['apps', appId, 'webhooks', id])}>{url}</a>,
  },
  { title: 'Events', cell: ({ events }) => events.join(', '), isMinor: true },
  { title: 'State', cell: (webhook) => <State webhook={webhook} /> },
  { title: 'Created', cell: ({ createdAt }) => <When iso={createdAt} />, isMinor: true },
]

function State({ webhook: { enabled, disabledReason, failingSince } }: { webhook: Webhook }) {
  const failing = failingSince !== null && (
    <span className="muted">
      failing since <When iso={failingSince} />
    </span>
  )
  if (enabled)
    return (
      <>
        <span className="badge badge-good">On</span> {failing}
      </>
    )
  const reason = disabledReason === 'gone' && <span className="muted">it answered 410</span>
  return (
    <>
      <span className="badge badge-bad">Off</span> {reason || failing}
    </>
  )
}

/** The past and coming deliveries of a webhook. */
export function Deliveries({ appId, webhookId }: { appId: string; webhookId: string }) {
  const pages = usePages(async (cursor) => {
    const page = await api.inspect.deliveries({ appId, webhookId, cursor })
    return { rows: page.deliveries, nextCursor: page.nextCursor }
  }, `${appId} ${webhookId}`)
  const { data } = useData(() => api.inspect.webhooks({ appId }), { key: appId })
  const webhook = data?.webhooks.find(({ id }) => id === webhookId)
  const webhooks = addressOf(['apps', appId, 'webhooks'])
  if (pages.problem?.code === 'NOT_FOUND' && pages.rows.length === 0)
    return <NotFound what="webhook" list={{ title: 'All webhooks', address: webhooks }} />
  return (
    <>
      <header className="page-head">
        <p className="crumb">
          <a href={webhooks}>Webhooks</a> / {webhook?.url ?? 'deliveries'}
        </p>
        <Refresh reload={pages.reload} />
      </header>
      <PagedTable
        label="Deliveries"
        columns={deliveryColumnsOf(appId)}
        pages={pages}
        keyOf={({ id }) => id}
        isStacked
        empty="Nothing was sent in the last days."
      />
    </>
  )
}

const deliveryColumnsOf = (appId: string): Column<Delivery>[] => [
  { title: 'Event', cell: ({ eventType }) => eventType },
  { title: 'About', cell: (delivery) => <About appId={appId} delivery={delivery} /> },
  { title: 'Status', cell: ({ status }) => <span className="badge">{status}</span> },
  { title: 'Attempts', cell: ({ attempts }) => attempts, isNumber: true, isMinor: true },
  { title: 'Answer', cell: ({ responseStatus }) => responseStatus ?? '–', isNumber: true },
  { title: 'Error', cell: ({ error }) => error ?? '–' },
  { title: 'Next attempt', cell: (delivery) => <NextAttempt delivery={delivery} /> },
  {
    title: 'webhook-id',
    cell: ({ headerId }) => <ShortId id={headerId} end={endOfHeader(headerId)} />,
    isMinor: true,
  },
  { title: 'Event of', cell: ({ createdAt }) => <When iso={createdAt} isExact />, isMinor: true },
]

/** The delivery and its time: the id of the webhook before them is the same in all rows. */
const endOfHeader = (headerId: string) => headerId.split('_').slice(-2).join('_')

/** The message of the event, in its channel. */
function About({
  appId,
  delivery: { channelId, messageId },
}: {
  appId: string
  delivery: Delivery
}) {
  if (channelId === null) return '–'
  return (
    <a href={addressOf(['apps', appId, 'channels', channelId])}>
      <ShortId id={messageId ?? channelId} />
    </a>
  )
}

/** One that waits for another has been due for as long as that fails. */
function NextAttempt({ delivery: { waitsForEarlier, nextAttemptAt } }: { delivery: Delivery }) {
  if (waitsForEarlier) return <span className="muted">waits for an earlier one</span>
  return <When iso={nextAttemptAt} never="–" />
}
