import { setTimeout as pause } from 'node:timers/promises'
import {
  type ChatClient,
  type ChatErrorCode,
  type ChatMessage,
  isChatError,
  type Room,
} from '@parley/client'
import fc from 'fast-check'
import { afterAll, expect, test, vi } from 'vitest'
import { GROUP, liveChatOf, ready, until } from '../support/chat.ts'
import type { Network } from '../support/network.ts'
import { type User, useWorld } from '../support/world.ts'

const world = useWorld()
const RUNS = Number(process.env.HISTORIES ?? 30)
const SEED = Number(process.env.SEED ?? Date.now() % 2 ** 31)
/** How long a wrong state may show after the last event, on a machine where a load takes 50 ms. */
const SETTLED_WITHIN_MS = 2_000
const LOADS_MS = 50

type Action = keyof typeof weights
/** How often each action is picked. */
const weights = {
  send: 3,
  reply: 1,
  edit: 1,
  delete: 1,
  react: 2,
  unreact: 1,
  pin: 1,
  unpin: 1,
  read: 1,
  members: 1,
  sendElsewhere: 2,
  readElsewhere: 1,
  membersElsewhere: 1,
  settings: 1,
  cut: 1,
  mend: 1,
  reset: 1,
  slow: 1,
  wait: 1,
}
const actions = Object.entries(weights).map(([action, weight]) => ({
  arbitrary: fc.constant(action as Action), // entries have the keys of the object
  weight,
}))
type Step = { by: 0 | 1; action: Action; pick: number }
type History = { steps: Step[]; delays: number[] }
const histories = fc.record<History>({
  steps: fc.array(
    fc.record<Step>({
      by: fc.constantFrom(0, 1),
      action: fc.oneof(...actions),
      pick: fc.nat(10_000),
    }),
    { minLength: 10, maxLength: 20 },
  ),
  /** How late each answer is, in milliseconds: events that are newer overtake it. */
  delays: fc.array(fc.constantFrom(0, 0, 5, 20, 60), { minLength: 20, maxLength: 20 }),
})

/** The channel that both clients watch, and another that shows only in their lists. */
type Scene = { channelId: string; otherId: string; both: string[] }

/** The sent messages, without the fields that only the client adds. */
const sentMessages = (messages: readonly ChatMessage[]) =>
  messages
    .filter(({ status }) => status === 'sent')
    .map(({ status: _, error: __, ...message }) => message)

async function shown(chat: ChatClient, { channelId }: Scene, roots: string[]) {
  const room = chat.channel(channelId)
  const threads = roots.map((id) => room.thread(id))
  const stop = room.watch()
  const items = await until(
    room.messages,
    (messages) => ready(messages) && messages.items.every(({ status }) => status !== 'pending'),
  )
  const [members, pins] = await Promise.all([until(room.members, ready), until(room.pins, ready)])
  const reads = await until(
    room.reads,
    (reads) => Object.keys(reads).length === members.items.length,
  )
  const replies = await Promise.all(
    threads.map((thread) =>
      until(thread, (shown) => shown.status === 'ready' || shown.status === 'failed'),
    ),
  )
  const list = await until(chat.channels(), ready)
  stop()
  return {
    // Events do not contain the exact times that the server sorts by.
    list: [...list.items].sort((a, b) => a.id.localeCompare(b.id)),
    total: [list.totalUnread, chat.unread.getSnapshot().total],
    unread: chat.unread.getSnapshot().byChannel,
    messages: sentMessages(items.items),
    members: members.items
      .map(({ userId, user, role }) => ({ userId, user, role }))
      .sort((a, b) => a.userId.localeCompare(b.userId)),
    pins: pins.items.map(({ id, pinnedBy, text, user, reactions }) => ({
      id,
      pinnedBy,
      text,
      user,
      reactions,
    })),
    reads: Object.fromEntries(
      Object.entries(reads).map(([userId, { lastReadSeq }]) => [userId, lastReadSeq]),
    ),
    threads: replies.map((thread) =>
      thread.status === 'failed' || thread.parent?.deletedAt ? 'gone' : sentMessages(thread.items),
    ),
  }
}

const sampled = fc
  .sample(histories, { seed: SEED, numRuns: RUNS })
  .map((history, run) => ({ history, run }))
/** Histories that run at once. */
const AT_ONCE = 5
const outcomes: (string | undefined)[] = []

for (let first = 0; first < RUNS; first += AT_ONCE) {
  const last = Math.min(first + AT_ONCE, RUNS)
  test(`after any actions on any network, each client soon shows what a fresh one loads (${first + 1} to ${last})`, async () => {
    const done = sampled.slice(first, last).map(({ history, run }) =>
      runHistory(history, run).catch((cause) => {
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

async function runHistory({ steps, delays }: History, run: number) {
  const [ana, ben] = await world().users(`ana${run}`, `ben${run}`)
  await world().users('cem', 'dora')
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
    liveChatOf(world(), ana.id, options),
    liveChatOf(world(), ben.id, options),
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
  const quietSince = performance.now()

  const load = async ({ id }: User) => {
    const { chat } = await liveChatOf(world(), id)
    return { chat, expected: await shown(chat, scene, [old.id]) }
  }
  const fresh = await Promise.all([load(ana), load(ben)])
  const loadMs = performance.now() - quietSince
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
    await vi.waitFor(compare, { timeout: bound, interval: 20 })
    expect(performance.now() - quietSince).toBeLessThan(bound + loadMs)
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

const GONE: ChatErrorCode[] = ['NOT_FOUND']
const LEFT: ChatErrorCode[] = ['FORBIDDEN', 'NOT_FOUND']
/** What may refuse an action, and the action before it that makes it so. */
const refusals: Partial<Record<Action, { after: Action; codes: ChatErrorCode[] }>> = {
  reply: { after: 'delete', codes: GONE },
  edit: { after: 'delete', codes: GONE },
  delete: { after: 'delete', codes: GONE },
  react: { after: 'delete', codes: GONE },
  unreact: { after: 'delete', codes: GONE },
  pin: { after: 'delete', codes: GONE },
  unpin: { after: 'delete', codes: GONE },
  read: { after: 'delete', codes: GONE },
  members: { after: 'members', codes: GONE },
  sendElsewhere: { after: 'membersElsewhere', codes: LEFT },
  readElsewhere: { after: 'membersElsewhere', codes: LEFT },
  membersElsewhere: { after: 'membersElsewhere', codes: LEFT },
  settings: { after: 'membersElsewhere', codes: LEFT },
}

/** The code of a refusal that the history explains. Any other is an error. */
function expectedCode(error: unknown, { action, by }: Step, history: Step[]) {
  if (!isChatError(error)) throw error
  const { after, codes } = refusals[action] ?? {}
  const wasBefore = history.some((step) => step.action === after)
  const wasOffline = history.some(
    (step) => step.by === by && (step.action === 'cut' || step.action === 'reset'),
  )
  const isExplained =
    (wasBefore && codes?.includes(error.code)) || (wasOffline && error.code === 'NETWORK_ERROR')
  if (!isExplained) throw new Error(`${action} was refused`, { cause: error })
  return error.code
}

type Client = { chat: ChatClient; proxy: Network }
type ActionContext = Scene &
  Client & {
    user: User
    room: Room
    /** A message that the room shows. */
    id: string
    emoji: string
    pick: number
  }
const perform: Record<Action, (context: ActionContext) => unknown> = {
  send: ({ room, pick }) => room.send({ text: `${pick}` }).sent,
  reply: ({ room, id, pick }) => room.send({ text: `reply ${pick}`, parentId: id }).sent,
  edit: ({ room, id, pick }) => room.edit(id, { text: `edited ${pick}` }),
  delete: ({ room, id }) => room.delete(id),
  react: ({ room, id, emoji }) => room.react(id, emoji),
  unreact: ({ room, id, emoji }) => room.unreact(id, emoji),
  pin: ({ room, id }) => room.pin(id),
  unpin: ({ room, id }) => room.unpin(id),
  read: ({ room, id, pick }) => room.markRead(pick % 2 ? id : undefined),
  // Only the owner may remove someone.
  members: ({ user, channelId, both, pick }) =>
    pick % 2 || user.id !== both[0]
      ? user.members.add({ channelId, userIds: ['cem', 'dora'] })
      : user.members.remove({ channelId, userId: 'cem' }),
  sendElsewhere: ({ user, otherId, pick }) =>
    user.messages.send({ channelId: otherId, text: `elsewhere ${pick}` }),
  readElsewhere: ({ user, otherId }) => user.reads.mark({ channelId: otherId }),
  membersElsewhere: ({ user, otherId, both, pick }) =>
    pick % 2
      ? user.members.leave({ channelId: otherId })
      : user.members.add({ channelId: otherId, userIds: both }),
  settings: ({ user, channelId, otherId, pick }) =>
    user.channels.updateSettings({
      channelId: pick % 2 ? channelId : otherId,
      starred: pick % 3 === 0,
      muted: pick % 5 === 0,
    }),
  cut: ({ proxy }) => proxy.cut(),
  mend: ({ proxy }) => proxy.mend(),
  reset: ({ proxy }) => proxy.reset(),
  slow: ({ proxy, pick }) => proxy.delay(pick % 40),
  wait: ({ user, channelId }) => user.channels.get({ channelId }),
}

/** Only the author may do this to a message. */
const OWN: Action[] = ['edit', 'delete']
async function take({ action, pick }: Step, scene: Scene & Client & { user: User }) {
  const room = scene.chat.channel(scene.channelId)
  const isUsable = ({ status, userId }: ChatMessage) =>
    status === 'sent' && (!OWN.includes(action) || userId === scene.user.id)
  const messages = room.messages.getSnapshot().items.filter(isUsable)
  const { id = '' } = messages[pick % messages.length] ?? {}
  if (id === '' && refusals[action]?.after === 'delete') return
  const emoji = ['👍', '🎉', '❤️'][pick % 3] ?? ''
  await perform[action]({ ...scene, room, id, emoji, pick })
}
