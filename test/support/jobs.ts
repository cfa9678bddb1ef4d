import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { Timings } from '@parley/server/jobs/timings'
import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest'
import { allInTurn } from './all-in-turn.ts'
import { page, previewsFrom, servePages } from './pages.ts'
import { serveProvider } from './provider.ts'
import { bundled } from './start.ts'
import { until } from './until.ts'
import { createWorld, SECRET, type User, type World } from './world.ts'

type NodeOptions = {
  timings?: Partial<Timings>
  log?: typeof silentLog
}
type Fixture = {
  web: Awaited<ReturnType<typeof servePages>>
  provider: Awaited<ReturnType<typeof serveProvider>>
  world: World
  ana: User
  channelId: string
}

export const silentLog = {
  debug: (_: object, _message: string) => {},
  info: () => {},
  warn: (_: object, _message: string) => {},
  error: (_: object, _message: string) => {},
}

/**
 * A server that stages jobs but runs none (JOBS=external), where ana has a group channel with ben.
 * Each test starts the processes that run its jobs; they are stopped after it.
 */
export function useStagingWorld() {
  let fixture: Fixture | undefined
  const current = () => {
    if (!fixture) throw new Error('the staging world exists only while tests run')
    return fixture
  }
  const processes: { stop: () => Promise<unknown> }[] = []
  beforeAll(async () => {
    const web = await servePages({ '/page': page('<title>Page</title>') })
    const provider = await serveProvider()
    // Nodes do not compare themselves with the event log here, so sockets get only what they are
    // sent.
    const world = await createWorld({
      timings: { reconcileMs: 600_000 },
      jobs: { isElsewhere: true, push: provider.settings },
    })
    const [ana] = await world.users('ana', 'ben')
    const channel = await ana.channels.create({ type: 'group', name: 'Talk', memberIds: ['ben'] })
    fixture = { web, provider, world, ana, channelId: channel.id }
  })
  // A test starts without the jobs that others left, given up or not yet done.
  beforeEach(async () => {
    const { world, provider } = current()
    await world.db`truncate staged_jobs`
    await world.db`
      do $$ begin
        if to_regclass('graphile_worker._private_jobs') is not null then
          delete from graphile_worker._private_jobs;
        end if;
      end $$`
    provider.forget()
  })
  afterEach(async () => {
    await allInTurn(...processes.splice(0).map(({ stop }) => stop))
    fixture?.provider.behave()
  })
  afterAll(async () => {
    await fixture?.world.stop()
    await Promise.all([fixture?.web.stop(), fixture?.provider.stop()])
  })
  const stopAfterTest = <T extends { stop: () => Promise<unknown> }>(process: T) => {
    processes.push(process)
    return process
  }

  /** Starts a node on the same database that runs jobs. */
  const startNode = async (options: NodeOptions = {}) => {
    const { world, provider, web } = current()
    const jobs = { push: provider.settings, previews: previewsFrom(web), ...options }
    return stopAfterTest(await createWorld({ databaseUrl: world.databaseUrl, jobs }))
  }
  /** Starts a node that runs jobs but has no push provider. */
  const startNodeWithoutProvider = async (log: typeof silentLog) => {
    const { world, web } = current()
    const jobs = { previews: previewsFrom(web), log }
    return stopAfterTest(await createWorld({ databaseUrl: world.databaseUrl, jobs }))
  }
  /** Starts the program of `npm run worker`. */
  const startWorker = (variables: Record<string, string>) =>
    stopAfterTest(spawnWorker(process.execPath, bundled('worker'), variables))
  const stopLast = () => processes.pop()?.stop()

  const send = (text: string) => {
    const { ana, channelId } = current()
    return ana.messages.send({ channelId, text })
  }
  /** Waits for the previews of a message, and returns it. */
  const withPreviews = (messageId: string) => {
    const { ana, channelId } = current()
    const read = async () => {
      const message = await ana.messages.get({ channelId, messageId })
      return message.linkPreviews && { ...message, linkPreviews: message.linkPreviews }
    }
    return until(read)
  }
  /** How often the push of a message was sent. */
  const sendsOf = (messageId: string) =>
    current()
      .provider.triggered()
      .filter(({ payload }) => payload.messageId === messageId).length
  /** Waits until processes have written `count` heartbeats, one after the other. */
  const heartbeats = async (count: number) => {
    const beats = new Set<number>()
    await until(async () => {
      const workers = await current().world.db`
        select (extract(epoch from max(seen_at)) * 1000)::float as seen_at
        from job_workers`
      beats.add(workers[0]?.seenAt)
      return beats.size > count
    })
  }
  return {
    current,
    startNode,
    startNodeWithoutProvider,
    startWorker,
    stopLast,
    send,
    withPreviews,
    sendsOf,
    heartbeats,
  }
}

function spawnWorker(command: string, args: string[], variables: Record<string, string> = {}) {
  const child = spawn(command, args, {
    cwd: fileURLToPath(new URL('../..', import.meta.url)),
    env: { PATH: process.env.PATH, NODE_ENV: 'production', JWT_SECRET: SECRET, ...variables },
  })
  let output = ''
  const append = (chunk: unknown) => (output += chunk)
  child.stdout.on('data', append)
  child.stderr.on('data', append)
  // Once all that it has written was read.
  const exited = once(child, 'close')
  const stop = async () => {
    child.kill('SIGKILL')
    return exited
  }
  return { child, exited, output: () => output, stop }
}
