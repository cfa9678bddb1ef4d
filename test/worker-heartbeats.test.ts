import type { ServerResponse } from 'node:http'
import { createDb, type Db } from '@parley/server/db/client'
import { startHeartbeat } from '@parley/server/jobs/heartbeat'
import { timings } from '@parley/server/jobs/timings'
import { expect, onTestFinished, test, vi } from 'vitest'
import { useDatabaseClock } from './support/database-clock.ts'
import { idle } from './support/idle.ts'
import { silentLog, useStagingWorld } from './support/jobs.ts'
import { unhurried, until } from './support/until.ts'

const staging = useStagingWorld()
const { sendsOf, heartbeats } = staging

test('a process that runs jobs writes heartbeats of all its workers', async () => {
  const { db } = staging.current().world
  await staging.startNode({ timings: { heartbeatMs: 1_000 } })
  // Pools and workers: one for the cleanup, ten for previews, and four each for pushes and users.
  await until(async () => {
    const [row] = await db<{ count: number }[]>`select count(*)::int from job_workers`
    return row?.count === 4 + 19
  })
})

/** Sends a message whose push is in progress until `answer` is called. */
async function sendHeld(text: string) {
  const { world, provider } = staging.current()
  await idle(world)
  provider.forget()
  const held: ServerResponse[] = []
  provider.behave((response) => void held.push(response))
  const { id } = await staging.send(text)
  await until(() => held.length === 1)
  const answer = () => {
    provider.behave()
    for (const response of held) response.writeHead(201).end('{"data":{"status":"processed"}}')
  }
  return { id, answer }
}

test('a worker keeps its job for as long as it lives', async () => {
  await staging.startNode({ timings: { heartbeatMs: 200 } })
  const { id, answer } = await sendHeld('in progress for several heartbeats')
  await heartbeats(6)
  answer()
  await idle(staging.current().world)
  expect(sendsOf(id)).toBe(1)
})

/**
 * A node that has a job in progress, and another process. They take turns to write heartbeats. Each
 * `beat` is one, with the look at other workers that follows. None is late, however slow the
 * machine is.
 */
async function startInTurns() {
  const { db, databaseUrl, metrics } = staging.current().world
  // Its connections are opened after the clock was made one that can be set.
  const options = { poolSize: 2, applicationName: 'parley-test', patience: unhurried }
  const pool = createDb({ url: databaseUrl, ...options })
  onTestFinished(() => pool.end({ timeout: 1 }))
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  onTestFinished(() => void vi.useRealTimers())
  const heartbeatMs = 60_000
  await staging.startNode({ timings: { heartbeatMs } })
  const sent = await sendHeld('in progress when the clock is set')
  vi.advanceTimersByTime(heartbeatMs / 2)
  const looks = { begun: 0, done: 0 }
  let held: Promise<void> | undefined
  const use: Db['use'] = async (...given) => {
    looks.begun += 1
    await held
    return pool.use(...given).finally(() => (looks.done += 1))
  }
  const stop = startHeartbeat({
    db: { ...pool, use },
    queue: { workers: new Set(['another']), notStored: new Map() },
    timings: { ...timings, heartbeatMs },
    metrics,
    log: silentLog,
  })
  onTestFinished(stop)
  const latest = async () => {
    const [row] = await db`select max(seen_at)::text as at from job_workers`
    return row?.at
  }
  const beatOfNode = async () => {
    const before = await latest()
    vi.advanceTimersByTime(heartbeatMs / 2)
    await until(async () => (await latest()) !== before)
  }
  const beatOfOther = async () => {
    const before = looks.begun
    vi.advanceTimersByTime(heartbeatMs / 2)
    await until(() => looks.begun > before && looks.done === looks.begun)
  }
  /** The same, with this work between the heartbeat and its look. */
  const beatOfOtherAround = async (work: () => Promise<void>) => {
    const before = looks.begun
    let proceed = () => {}
    held = new Promise((resolve) => (proceed = resolve))
    vi.advanceTimersByTime(heartbeatMs / 2)
    await until(() => looks.begun > before)
    await work()
    proceed()
    await until(() => looks.done === looks.begun)
  }
  await until(() => looks.begun > 0 && looks.done === looks.begun)
  return { ...sent, beatOfNode, beatOfOther, beatOfOtherAround }
}

test('a worker keeps its job when the clock of the database is set forward', async () => {
  const { world } = staging.current()
  const clock = await useDatabaseClock(world)
  const { id, answer, beatOfNode, beatOfOther } = await startInTurns()
  // Both have declared no worker dead since they started.
  for (let count = 0; count < 4; count++) {
    await beatOfNode()
    await beatOfOther()
  }
  await beatOfNode()
  await clock.set('1 hour')
  for (let count = 0; count < 3; count++) {
    await beatOfOther()
    await beatOfNode()
  }
  answer()
  await idle(world)
  expect(sendsOf(id)).toBe(1)
})

test('a worker keeps its job when the clock is set back before another looks at it', async () => {
  const { world } = staging.current()
  const clock = await useDatabaseClock(world)
  const { id, answer, beatOfNode, beatOfOther, beatOfOtherAround } = await startInTurns()
  for (let count = 0; count < 4; count++) {
    await beatOfNode()
    await beatOfOther()
  }
  await beatOfNode()
  const locked = () => world.db`select id, locked_by from graphile_worker.jobs where locked_by > ''`
  const [before] = await locked()
  await beatOfOtherAround(async () => {
    await clock.set('-1 hour')
    await beatOfNode()
  })
  expect(await locked()).toEqual([before])
  answer()
  await idle(world)
  expect(sendsOf(id)).toBe(1)
})

test('jobs that waited when the clock of the database was set back are not late', async () => {
  const { world, provider } = staging.current()
  await staging.startNode()
  const sent = [
    await staging.send('due when the clock was set back'),
    await staging.send('put off by then'),
  ]
  await idle(world)
  await staging.stopLast()
  provider.forget()
  const since = new Date().toISOString()
  const queued = sent.map(({ id: messageId }) => {
    return { jobs: [{ appId: world.appId, messageId }], since, tries: 0 }
  })
  await world.db`
    select
    from unnest(array[0, 120], ${queued.map((batch) => JSON.stringify(batch))}::text[])
        given (minutes, payload),
      graphile_worker.add_job(
        'push-message', payload::json,
        run_at => now() + make_interval(mins => 60 + minutes)
      )`
  await world.db`
    update graphile_worker._private_jobs
    set created_at = now() + interval '1 hour', updated_at = now() + interval '1 hour'
    where run_at > now() + interval '59 minutes'`
  await staging.startNode({ timings: { heartbeatMs: 100 } })
  await until(() => provider.kindsFor('ben').length > 0)
  const putOff = await world.db`
    select round(extract(epoch from run_at - now()) / 60)::int as minutes
    from graphile_worker.jobs
    where task_identifier = 'push-message'
      and locked_at is null`
  expect(provider.triggered()).toMatchObject([{ to: 'ben', payload: { messageId: sent[0]?.id } }])
  expect(putOff).toEqual([{ minutes: 120 }])
})

/**
 * Heartbeats whose writes, or the looks that follow them, wait for `proceed`. After it, the later
 * ones do not wait. Periods pass by `pass`.
 */
async function startSlowly(slow: 'use' | 'useApart') {
  const { pool, metrics } = staging.current().world
  // It makes the tables of the queue.
  await staging.startNode()
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  onTestFinished(() => void vi.useRealTimers())
  let proceed = () => {}
  const held = new Promise<void>((resolve) => (proceed = resolve))
  const begun = { use: 0, useApart: 0 }
  const counted = (name: typeof slow): Db['use'] => {
    return async (...given) => {
      begun[name] += 1
      if (name === slow) await held
      return pool[name](...given)
    }
  }
  const stop = startHeartbeat({
    db: { ...pool, use: counted('use'), useApart: counted('useApart') },
    queue: { workers: new Set(['slow']), notStored: new Map() },
    timings,
    metrics,
    log: silentLog,
  })
  const pass = (periods: number) => vi.advanceTimersByTime(periods * timings.heartbeatMs)
  return { begun, pass, proceed, stop }
}

test('a heartbeat that exceeds its period overlaps no other, and is followed by one', async () => {
  const { begun, pass, proceed, stop } = await startSlowly('useApart')
  pass(5)
  expect(begun.useApart).toBe(1)
  proceed()
  await until(() => {
    pass(1)
    return begun.useApart === 2
  })
  await stop()
})

test('a process that ends waits for its last heartbeat', async () => {
  const { begun, proceed, stop } = await startSlowly('useApart')
  const stopped = stop()
  await new Promise(setImmediate)
  // Its workers are not released: the heartbeat would write them again.
  expect(begun.use).toBe(0)
  proceed()
  await stopped
})

test('heartbeats go on during a check of other workers, and no second check begins', async () => {
  const { begun, pass, proceed, stop } = await startSlowly('use')
  await until(() => {
    pass(1)
    return begun.useApart === 5
  })
  expect(begun.use).toBe(1)
  proceed()
  await stop()
})
