import { useState } from 'react'
import { addressOf } from './route.ts'
import { api } from './server.ts'
import { useAttempt } from './session.tsx'
import { type Column, PagedTable, Refresh } from './table.tsx'
import type { FailedJob } from './types.ts'
import { usePages } from './use-pages.ts'
import { When } from './when.tsx'

const PAGE_SIZE = 50

/** The background jobs of an app that were given up. */
export function Jobs({ appId }: { appId: string }) {
  const attempt = useAttempt()
  const [retried, setRetried] = useState<ReadonlySet<string>>(new Set())
  const pages = usePages(async (cursor) => {
    const { jobs, nextCursor } = await api.jobs.list({ appId, limit: PAGE_SIZE, cursor })
    return { rows: jobs, nextCursor }
  }, appId)
  const retry = async (jobId: string) => {
    const result = await attempt(api.jobs.retry({ appId, jobId }))
    if (result) setRetried((retried) => new Set(retried).add(jobId))
  }
  const columns: Column<FailedJob>[] = [
    ...columnsOf(appId),
    {
      title: '',
      cell: ({ id }) => (
        <div className="actions">
          {retried.has(id) ? (
            <span className="badge badge-good">Queued</span>
          ) : (
            <button
              type="button"
              className="button button-quiet button-small"
              onClick={() => void retry(id)}
            >
              Retry
            </button>
          )}
        </div>
      ),
    },
  ]
  return (
    <>
      <div className="actions">
        <Refresh reload={pages.reload} />
      </div>
      <PagedTable
        label="Failed jobs"
        columns={columns}
        pages={pages}
        keyOf={({ id }) => id}
        isStacked
        empty="No job was given up."
      />
    </>
  )
}

const columnsOf = (appId: string): Column<FailedJob>[] => [
  { title: 'Task', cell: ({ task }) => <code>{task}</code> },
  { title: 'Reason', cell: ({ reason }) => reason },
  { title: 'About', cell: (job) => <About job={job} appId={appId} /> },
  { title: 'Attempts', cell: ({ attempts }) => attempts, isNumber: true, isMinor: true },
  { title: 'Given up', cell: ({ failedAt }) => <When iso={failedAt} isExact /> },
]

/** The messages, which the log names too, with a way to their channels, and the users. */
const About = ({ job: { about, size }, appId }: { job: FailedJob; appId: string }) => (
  <>
    {about.map(({ messageId, channelId, userId }) => (
      <div key={`${messageId} ${channelId} ${userId}`}>
        {messageId !== null && (
          <>
            message <span className="id below">{messageId}</span>
          </>
        )}
        {userId !== null && (
          <>
            user <span className="id">{userId}</span>{' '}
          </>
        )}
        {channelId !== null && (
          <a href={addressOf(['apps', appId, 'channels', channelId])}>Channel</a>
        )}
      </div>
    ))}
    {size > about.length && <span className="muted">and {size - about.length} more</span>}
  </>
)
