import { setTimeout as pause } from 'node:timers/promises'
import { limits } from '@parley/contract'
import { expect, onTestFinished, test } from 'vitest'
import { cleanupElsewhere } from '../support/cleanup.ts'
import { useWorld, type World } from '../support/world.ts'

/** Events expire this long after they were stored: a day, compressed. */
const DAY_SECONDS = Number(process.env.DAY_SECONDS ?? 10)
const DAYS = 4
/** At a thousand a second a day has 86 million; the shares of a day are what matters here. */
const EVENTS_A_SECOND = 3_000
const BATCH = 500
const CHANNELS = 200

const world = useWorld()

/** PostgreSQL looks for tables to vacuum once a minute: 1,440 times a day. */
async function hurryAutovacuum({ db }: World) {
  await db`alter system set autovacuum_naptime = '1s'`
  await db`select pg_reload_conf()`
  onTestFinished(async () => {
    await db`alter system reset autovacuum_naptime`
    await db`select pg_reload_conf()`
  })
}

/** Stores events as sends do, with a time that expires them when the compressed day is over. */
const store = ({ db, appId }: World, from: number) => db`
  insert into events (topic, "offset", type, envelope, message_id, created_at)
  select
    'chat:' || ${appId} || ':' || md5((n % ${CHANNELS})::text)::uuid, n / ${CHANNELS} + 1,
    'message.new', repeat('x', 500), gen_random_uuid(),
    now() - ${limits.eventsKeptHours} * interval '1 hour' + ${DAY_SECONDS} * interval '1 second'
  from generate_series(${from}::int, ${from + BATCH - 1}::int) n`

type State = { rows: number; bytes: number; dead: number; overdueSeconds: number }

async function stateOf({ db }: World): Promise<State> {
  const [state] = await db<State[]>`
    select
      count(*)::int as rows,
      pg_total_relation_size('events')::float8 as bytes,
      (
        select n_dead_tup::int
        from pg_stat_user_tables
        where relname = 'events'
      ) as dead,
      greatest(0, extract(epoch from
        now() - ${limits.eventsKeptHours} * interval '1 hour' - min(created_at)
      ))::float8 as overdue_seconds
    from events`
  return state ?? { rows: 0, bytes: 0, dead: 0, overdueSeconds: 0 }
}

/** The bytes of a row in a table from which no row was ever deleted. */
async function compactRowBytes({ db }: World) {
  await db`create table compact (like events including all)`
  onTestFinished(async () => void (await db`drop table compact`))
  await db`
    insert into compact
    select *
    from events
    order by created_at`
  const [row] = await db<{ bytes: number }[]>`
    select pg_total_relation_size('compact')::float8 / count(*) as bytes
    from compact`
  return row?.bytes ?? 0
}

const median = (times: number[]) => times.toSorted((a, b) => a - b)[times.length >> 1] ?? 0

test('events expire as fast as they come, and their table does not grow', async () => {
  await hurryAutovacuum(world())
  const ana = await world().user('ana')
  const { id: channelId } = await ana.channels.create({ type: 'group', name: 'Talk' })
  const cleanup = cleanupElsewhere(world())
  const startedAt = performance.now()
  const day = () => (performance.now() - startedAt) / 1_000 / DAY_SECONDS
  const untilDay = (time: number) =>
    pause(Math.max(0, startedAt + time * DAY_SECONDS * 1_000 - performance.now()))
  const daily = async (times: number, work: () => Promise<unknown>) => {
    while (day() < DAYS) {
      await work()
      await untilDay(Math.floor(day() * times + 1) / times)
    }
  }
  let stored = 0
  const storeMore = async () => {
    await store(world(), stored)
    stored += BATCH
  }
  const passes: number[] = []
  const clean = async () => {
    const before = performance.now()
    await cleanup.run()
    passes.push(performance.now() - before)
  }
  const sends: number[][] = Array.from({ length: DAYS }, () => [])
  const send = async () => {
    const before = performance.now()
    await ana.messages.send({ channelId, text: 'hello' })
    sends[Math.floor(day())]?.push(performance.now() - before)
  }
  const states: (State & { day: number; stored: number })[] = []
  const note = async () => {
    states.push({ day: Number(day().toFixed(2)), stored, ...(await stateOf(world())) })
  }
  await Promise.all([
    daily((EVENTS_A_SECOND * DAY_SECONDS) / BATCH, storeMore),
    // Once a second; in a whole day, a pass each minute.
    daily(DAY_SECONDS, clean),
    daily(10 * DAY_SECONDS, send),
    daily(4, note),
  ])
  const [second, last] = [states.find(({ day }) => day >= 2), states.at(-1)]
  const compact = (last?.rows ?? 0) * (await compactRowBytes(world()))
  console.table(states)
  console.log({
    eventsASecond: Math.round(stored / DAYS / DAY_SECONDS),
    timesCompact: Number(((last?.bytes ?? 0) / compact).toFixed(2)),
    longestPassMs: Math.round(Math.max(...passes)),
    medianSendMs: sends.map((times) => Number(median(times).toFixed(1))),
  })
  // From the second day on, events go as fast as they come.
  expect(last?.bytes).toBeLessThan(1.3 * (second?.bytes ?? 0))
  expect(last?.bytes).toBeLessThan(2 * compact)
  for (const { overdueSeconds } of states) expect(overdueSeconds).toBeLessThan(DAY_SECONDS / 2)
}, 900_000)
