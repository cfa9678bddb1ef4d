import { Skeletons } from '../playground/skeletons.tsx'
import { bytesOf, countOf, shortCountOf } from './format.ts'
import { api } from './server.ts'
import { ProblemNote } from './table.tsx'
import type { Usage } from './types.ts'
import { useData } from './use-data.ts'

const DAYS = 30
const DAY_MS = 86_400_000

/** Live counters of an app, and its active users by day. */
export function Overview({ appId }: { appId: string }) {
  const { data, problem, reload } = useData(() => api.apps.usage({ appId, days: DAYS }), {
    key: appId,
    everyMs: 5_000,
  })
  return (
    <>
      {problem && <ProblemNote problem={problem} onRetry={reload} />}
      {!data && !problem && <Skeletons label="Loading the usage" count={3} />}
      {data && <Figures usage={data} />}
      {data && <ActiveUsers days={data.activeUsers} />}
    </>
  )
}

const Figures = ({ usage }: { usage: Usage }) => (
  <dl className="figures">
    <Figure title="Connected now" value={usage.connectedUsers} />
    <Figure title="Users" value={usage.users} />
    <Figure title="Channels" value={usage.channels} />
    <Figure title="Messages" value={usage.messages} />
    <div className="card figure">
      <dt>Storage</dt>
      <dd>{usage.storageBytes === null ? '–' : bytesOf(usage.storageBytes)}</dd>
      <dd className="figure-note">
        {usage.storageBytes === null ? 'not estimated yet' : 'estimate'}
      </dd>
    </div>
  </dl>
)

type FigureProps = { title: string; value: { count: number; isExact: boolean } }

const Figure = ({ title, value: { count, isExact } }: FigureProps) => (
  <div className="card figure">
    <dt>{title}</dt>
    <dd title={countOf(count)}>{shortCountOf(count)}</dd>
    <dd className="figure-note">{isExact ? 'exact' : 'estimate'}</dd>
  </div>
)

/** A bar for each day, also for those without active users. */
function ActiveUsers({ days }: { days: Usage['activeUsers'] }) {
  const usersOn = new Map(days.map(({ day, users }) => [day, users]))
  const bars = lastDays(DAYS).map((day) => ({ day, users: usersOn.get(day) ?? 0 }))
  const most = Math.max(...bars.map(({ users }) => users))
  return (
    <section className="card section" aria-labelledby="active-users">
      <header>
        <h3 id="active-users">Active users a day</h3>
        <span className="muted">
          {most === 0 ? `none in the last ${DAYS} days` : `at most ${countOf(most)}`}
        </span>
      </header>
      <ul className="chart">
        {bars.map(({ day, users }) => (
          <li key={day} title={`${day}: ${countOf(users)}`}>
            <svg viewBox="0 0 1 100" preserveAspectRatio="none" role="img">
              <title>{`${day}: ${users} active`}</title>
              <rect width="1" height={barHeight(users, most)} y={100 - barHeight(users, most)} />
            </svg>
          </li>
        ))}
      </ul>
      <p className="chart-axis" aria-hidden="true">
        <span>{bars[0]?.day}</span>
        <span>today (UTC)</span>
      </p>
    </section>
  )
}

/** A day without active users has a line, so that one sees that it was counted. */
const barHeight = (users: number, most: number) => Math.max(1, (users / Math.max(1, most)) * 100)

/** The last days in UTC, the oldest first. */
const lastDays = (count: number, now = Date.now()) =>
  Array.from({ length: count }, (_, index) =>
    new Date(now - (count - 1 - index) * DAY_MS).toISOString().slice(0, 10),
  )
