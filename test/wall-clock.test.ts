import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const root = join(import.meta.dirname, '..')

/** Where the wall clock is read, how often, and for what. Durations use `performance.now()`. */
const onServer: Record<string, number> = {
  // The expiry of tokens.
  'core/tokens.ts': 2,
  'realtime/connection/commands.ts': 1,
  'realtime/timings.ts': 1,
  // Times of the database, and dates in headers.
  'jobs/run-job.ts': 1,
  'jobs/retry-after.ts': 1,
  // How long ago another node committed an event, for a metric: nodes share no other clock.
  'realtime/hints.ts': 1,
  'realtime/hub.ts': 1,
  // When a call began, as whoever receives its spans shows it.
  'core/opentelemetry.ts': 1,
  // The times of what is sent to webhooks and hooks, which their receivers check.
  'core/signed-request.ts': 1,
  'features/messages/before-send.ts': 1,
  'jobs/webhooks/deliver.ts': 1,
}

const inClient: Record<string, number> = {
  // The age of tokens goes on while the machine sleeps, when the monotonic clock may stand still.
  'tokens.ts': 4,
  // Times that are shown, or that order the operations of tabs.
  'outbox/sender.ts': 1,
  'room/reducer.ts': 1,
  'room/pins.ts': 1,
  'outbox/journal.ts': 1,
  // Dates in headers.
  'retry.ts': 1,
  // Times that the pages show: how long ago, which day, and what may be deleted by now.
  'playground/format.ts': 3,
  'playground/message-tools.tsx': 1,
  'playground/wire-log.ts': 1,
  'console/format.ts': 1,
  'console/overview.tsx': 1,
}

test.each([
  ['contract', {}],
  ['server', onServer],
  ['client-sdk', inClient],
])('%s reads the wall clock only for times of day, never for durations', (folder, expected) => {
  const files = readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
  const found = files
    .filter((file) => file.endsWith('.ts') || file.endsWith('.tsx'))
    .filter((file) => !/node_modules|^dist/.test(file))
    .map((file) => [file, readings(readFileSync(join(root, folder, file), 'utf8'))] as const)
    .filter(([, count]) => count > 0)
  expect(Object.fromEntries(found)).toEqual(expected)
})

test('every way to read the wall clock is found', () => {
  const ways = ['Date.now()', 'new Date()', 'new Date', 'Date()', '[].map(Date.now)']
  expect(ways.map(readings)).toEqual(ways.map(() => 1))
  expect(readings('new Date(row.createdAt), Date.parse(text), type Dated')).toBe(0)
})

const readings = (source: string) =>
  source.match(/\bDate\.now\b|\bDate\(\)|\bnew Date\b(?!\()/g)?.length ?? 0
