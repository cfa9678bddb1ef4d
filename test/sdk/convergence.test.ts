import { type ChatClient, type ChatMessage, isChatError, type Room } from '@parley/client'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { GROUP, isLive, liveChatOf, ready, until } from '../support/chat.ts'
import type { Network } from '../support/network.ts'
import { type User, useWorld } from '../support/world.ts'

const world = useWorld()

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
const histories = fc.array(
  fc.record<Step>({
    by: fc.constantFrom(0, 1),
    action: fc.oneof(...actions),
    pick: fc.nat(10_000),
  }),
  { minLength: 20, maxLength: 40 },
)

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

test('after any actions of two clients on any network, each shows what a fresh client loads', {
  timeout: 180_000 + 15_000 * Number(process.env.HISTORIES ?? 0),
}, async () => {
  await fc.assert(fc.asyncProperty(histories, runHistory), {
    numRuns: Number(process.env.HISTORIES ?? 2),
    endOnFailure: true,
  })
})

let runs = 0
async function runHistory(history: Step[]) {
  const run = ++runs
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
  const clients = await Promise.all([liveChatOf(world(), ana.id), liveChatOf(world(), ben.id)])
  const stops = clients.map(({ chat }) => chat.channel(channelId).watch())
  const watching = clients.flatMap(({ chat }) => {
    const room = chat.channel(channelId)
    return [
      chat.channels(),
      room.messages,
      room.members,
      room.pins,
      room.reads,
      room.thread(old.id),
    ].map((store) => store.subscribe(() => {}))
  })
  await Promise.all(clients.map(({ chat }) => until(chat.channel(channelId).messages, ready)))

  const running: Promise<unknown>[] = []
  for (const step of history) {
    const user = [ana, ben][step.by] ?? ana
    const done = take(step, { ...clients[step.by], ...scene, user }).catch(ignoreExpected)
    running.push(done)
    if (step.action === 'wait') await done
    else if (step.pick % 3 === 0) await Promise.race([done, new Promise(setImmediate)])
  }
  for (const { proxy } of clients) {
    proxy.delay(0)
    proxy.mend()
  }
  await Promise.all(running)
  await Promise.all(clients.map(({ chat }) => isLive(chat)))
  for (const { chat } of clients) await settled(chat, channelId)

  for (const [index, { chat }] of clients.entries()) {
    const { chat: fresh } = await liveChatOf(world(), [ana, ben][index]?.id ?? '')
    const expected = await shown(fresh, scene, [old.id])
    await expect.poll(() => shown(chat, scene, [old.id])).toEqual(expected)
    fresh.disconnect()
  }
  for (const stop of [...watching, ...stops]) stop()
  for (const { chat } of clients) chat.disconnect()
}

/** Resolves once no message is pending. */
const settled = (chat: ChatClient, channelId: string) =>
  until(
    chat.channel(channelId).messages,
    (shown) => ready(shown) && shown.items.every(({ status }) => status !== 'pending'),
  )

const EXPECTED_ERRORS = ['NOT_FOUND', 'FORBIDDEN', 'VALIDATION_ERROR', 'NETWORK_ERROR']
/** Random actions may fail: on deleted messages, in channels that were left, or offline. */
const ignoreExpected = (error: unknown) => {
  if (!isChatError(error) || !EXPECTED_ERRORS.includes(error.code)) throw error
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
  members: ({ user, channelId, pick }) =>
    pick % 2
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

async function take({ action, pick }: Step, scene: Scene & Client & { user: User }) {
  const room = scene.chat.channel(scene.channelId)
  const messages = room.messages.getSnapshot().items.filter(({ status }) => status === 'sent')
  const { id = '' } = messages[pick % messages.length] ?? {}
  const emoji = ['👍', '🎉', '❤️'][pick % 3] ?? ''
  await perform[action]({ ...scene, room, id, emoji, pick })
}
