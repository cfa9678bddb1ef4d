import { setTimeout as pause } from 'node:timers/promises'
import type { ChatClient, ChatErrorCode } from '@parley/client'
import fc from 'fast-check'
import { afterAll, expect, test, vi } from 'vitest'
import { GROUP, liveChatOf, ready, until } from './chat.ts'
import { type Client, expectedCode, type History, histories, take } from './client-actions.ts'
import { shown } from './shown.ts'
import { slowness } from './slowness.ts'
import type { User, World } from './world.ts'

const SEED = Number(process.env.SEED ?? Date.now() % 2 ** 31)
/** How long a wrong state may show after the last event, on a machine where a load takes 50 ms. */
const SETTLED_WITHIN_MS = 2_000 * slowness
const LOADS_MS = 50
/** Histories that run at once. */
const AT_ONCE = 5

/**
 * Tests that after any actions on any network each client soon shows what a fresh one loads, with
 * the first `runs` histories of the seed, or HISTORIES of them.
 */
export function testConvergence(world: () => World, { title, runs }: Convergence) {
  const numRuns = Number(process.env.HISTORIES ?? runs)
  const sampled = fc
    .sample(histories, { seed: SEED, numRuns })
    .map((history, run) => ({ history, run }))
  const outcomes: (string | undefined)[] = []

  for (let first = 0; first < numRuns; first += AT_ONCE) {
    const last = Math.min(first + AT_ONCE, numRuns)
    test(`${title} (${first + 1} to ${last})`, async () => {
      const done = sampled.slice(first, last).map(({ history, run }) =>
        runHistory(world(), { history, run }).catch((cause) => {
          throw new Error(`SEED=${SEED}, history ${run}: ${JSON.stringify(history)}`, { cause })
        }),
      )
      outcomes.push(...(await Promise.all(done)).flat())
    })
  }

  // The histories do something.
  afterAll(() => {
    const refused = outcomes.filter((code) => code !== undefined)
    expect(refused.length, `SEED=${SEED}: ${refused}`).toBeLessThan(outcomes.length / 3)
  })
}
type Convergence = { title: string; runs: number }

/** A `fetch` whose answers are late. */
function delayedFetch(delays: number[]): typeof fetch {
  let calls = 0
  return async (...request) => {
    const response = await fetch(...request)
    const text = await response.text()
    await pause(delays[calls++ % delays.length])
    const { status, headers } = response
    return new Response(text, { status, headers })
  }
}

type Run = { history: History; run: number }

async function runHistory(world: World, { history: { steps, delays }, run }: Run) {
  const [ana, ben] = await world.users(`ana${run}`, `ben${run}`)
  await world.users('cem', 'dora')
  const { id: channelId } = await ana.channels.create({ ...GROUP, memberIds: [ben.id] })
  const { id: otherId } = await ana.channels.create({
    ...GROUP,
    name: 'Other',
    memberIds: [ben.id, 'cem'],
  })
  const scene = { channelId, otherId, both: [ana.id, ben.id] }
  const old = await ana.messages.send({ channelId, text: 'old' })
  await ben.messages.send({ channelId, text: 'older', parentId: old.id })
  const options = { fetch: delayedFetch(delays) }
  const clients = await Promise.all([
    liveChatOf(world, ana.id, options),
    liveChatOf(world, ben.id, options),
  ])
  const stops = clients.map(({ chat }) => chat.channel(channelId).watch())
  const watching = clients.flatMap(({ chat }) => {
    const room = chat.channel(channelId)
    const { messages, members, pins, reads } = room
    return [chat.channels(), messages, members, pins, reads, room.thread(old.id)].map((store) =>
      store.subscribe(() => {}),
    )
  })
  await Promise.all(clients.map(({ chat }) => until(chat.channel(channelId).messages, ready)))

  const running: Promise<ChatErrorCode | undefined>[] = []
  for (const step of steps) {
    const user = [ana, ben][step.by] ?? ana
    const done = take(step, { ...clients[step.by], ...scene, user }).then(
      () => undefined,
      (error) => expectedCode(error, step, steps),
    )
    running.push(done)
    if (step.action === 'wait') await done
    else if (step.pick % 3 === 0) await Promise.race([done, new Promise(setImmediate)])
  }
  for (const { proxy } of clients) {
    proxy.delay(0)
    proxy.mend()
  }
  const outcomes = await Promise.all(running)
  await Promise.all(clients.map(isConnected))
  for (const { chat } of clients) await settled(chat, channelId)
  const loadingSince = performance.now()

  const load = async ({ id }: User) => {
    const { chat } = await liveChatOf(world, id)
    return { chat, expected: await shown(chat, scene, [old.id]) }
  }
  const fresh = await Promise.all([load(ana), load(ben)])
  const loadMs = performance.now() - loadingSince
  const bound = SETTLED_WITHIN_MS * Math.max(1, loadMs / LOADS_MS)
  for (const [index, { chat }] of [...clients, ...fresh].entries()) {
    const user = index % 2 ? ben : ana
    let { expected } = fresh[index % 2] ?? fresh[0]
    const compare = async () => {
      try {
        expect(await shown(chat, scene, [old.id])).toEqual(expected)
      } catch (error) {
        // A count that the server corrects a moment later may have reached the fresh one, too.
        expected = (await load(user)).expected
        throw error
      }
    }
    const comparedSince = performance.now()
    await vi.waitFor(compare, { timeout: bound, interval: 20 })
    expect(performance.now() - comparedSince).toBeLessThan(bound + loadMs)
  }
  for (const stop of [...watching, ...stops]) stop()
  for (const { chat } of [...clients, ...fresh]) chat.disconnect()
  return outcomes
}

/** Resolves once a client is live by a socket that is open: it may not know of a lost one yet. */
const isConnected = ({ chat, proxy }: Client) =>
  until(chat.connection, ({ status }) => status === 'live' && proxy.hasSocket)

/** Resolves once no message is pending. */
const settled = (chat: ChatClient, channelId: string) =>
  until(
    chat.channel(channelId).messages,
    (shown) => ready(shown) && shown.items.every(({ status }) => status !== 'pending'),
  )
