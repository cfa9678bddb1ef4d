import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const server = join(import.meta.dirname, '../server')

/** Where the wall clock is read, how often, and for what. Durations use `performance.now()`. */
const wallClock: Record<string, number> = {
  // The expiry of tokens.
  'core/tokens.ts': 2,
  'realtime/connection/commands.ts': 1,
  'realtime/timings.ts': 1,
  // Times of the database, dates in headers, and the hours in which users want no pushes.
  'jobs/run-job.ts': 1,
  'jobs/retry-after.ts': 1,
  'jobs/push/index.ts': 3,
  // When a call began, as whoever receives its spans shows it.
  'core/opentelemetry.ts': 1,
  // The times of what is sent to webhooks and hooks, which their receivers check.
  'core/signed-request.ts': 1,
  'features/messages/before-send.ts': 1,
  'jobs/webhooks/deliver.ts': 1,
}

test('the server reads the wall clock only for times of day, never for durations', () => {
  const files = readdirSync(server, { recursive: true, encoding: 'utf8' })
  const found = files
    .filter((file) => file.endsWith('.ts') && !file.includes('node_modules'))
    .map((file) => [file, readings(readFileSync(join(server, file), 'utf8'))] as const)
    .filter(([, count]) => count > 0)
  expect(Object.fromEntries(found)).toEqual(wallClock)
})

test('every way to read the wall clock is found', () => {
  const ways = ['Date.now()', 'new Date()', 'new Date', 'Date()', '[].map(Date.now)']
  expect(ways.map(readings)).toEqual(ways.map(() => 1))
  expect(readings('new Date(row.createdAt), Date.parse(text), type Dated')).toBe(0)
})

const readings = (source: string) =>
  source.match(/\bDate\.now\b|\bDate\(\)|\bnew Date\b(?!\()/g)?.length ?? 0
