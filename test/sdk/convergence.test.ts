import type { ChatClient, ChatMessage } from '@parley/client'
import { isChatError } from '@parley/client'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { GROUP, isLive, liveChatOf, ready, until } from '../support/chat.ts'
import type { Network } from '../support/network.ts'
import { type User, useWorld } from '../support/world.ts'

const world = useWorld()

const deeds = [
  'send',
  'send',
  'send',
  'reply',
  'edit',
  'delete',
  'react',
  'react',
  'unreact',
  'pin',
  'unpin',
  'read',
  'join',
  'elsewhere',
  'elsewhere',
  'readElsewhere',
  'goElsewhere',
  'settings',
  'cut',
  'mend',
  'reset',
  'slow',
  'wait',
] as const
type Step = { by: 0 | 1; does: (typeof deeds)[number]; pick: number }
const histories = fc.array(
  fc.record<Step>({
    by: fc.constantFrom(0, 1),
    does: fc.constantFrom(...deeds),
    pick: fc.nat(10_000),
  }),
  {
    minLength: 20,
    maxLength: 40,
  },
)

/** The channel where it happens, and another that nobody looks at but in the list. */
type Place = { channelId: string; otherId: string; both: string[] }

/** What a channel shows, stripped of what differs between two that show the same. */
const seen = (messages: readonly ChatMessage[]) =>
  messages
    .filter(({ status }) => status === 'sent')
    .map(({ status: _, error: __, ...message }) => message)

async function shown(chat: ChatClient, { channelId }: Place, roots: string[]) {
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
    // What the server orders by, to the millisecond, is told by no event.
    list: [...list.items].sort((a, b) => a.id.localeCompare(b.id)),
    total: [list.totalUnread, chat.unread.getSnapshot().total],
    unread: chat.unread.getSnapshot().byChannel,
    messages: seen(items.items),
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
      thread.status === 'failed' || thread.parent?.deletedAt ? 'gone' : seen(thread.items),
    ),
  }
}

test('after anything two clients did, on whatever network, each shows what a fresh load shows', {
  timeout: 180_000 + 15_000 * Number(process.env.HISTORIES ?? 0),
}, async () => {
  await fc.assert(fc.asyncProperty(histories, lived), {
    numRuns: Number(process.env.HISTORIES ?? 2),
    endOnFailure: true,
  })
})

let lives = 0
async function lived(history: Step[]) {
  const life = ++lives
  const [ana, ben] = await world().users(`ana${life}`, `ben${life}`)
  await world().users('cem', 'dora')
  const { id: channelId } = await ana.channels.create({ ...GROUP, memberIds: [ben.id] })
  const { id: otherId } = await ana.channels.create({
    ...GROUP,
    name: 'Other',
    memberIds: [ben.id, 'cem'],
  })
  const place = { channelId, otherId, both: [ana.id, ben.id] }
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

  const doing: Promise<unknown>[] = []
  for (const step of history) {
    const { chat, proxy } = clients[step.by]
    doing.push(
      perform(step, { chat, proxy, ...place, user: [ana, ben][step.by] ?? ana }).catch(tolerate),
    )
    if (step.pick % 3 === 0) await Promise.race([doing.at(-1), new Promise(setImmediate)])
    if (step.does === 'wait') await channelHeard(ana, channelId)
  }
  for (const { proxy } of clients) {
    proxy.delay(0)
    proxy.mend()
  }
  await Promise.all(doing)
  await Promise.all(clients.map(({ chat }) => isLive(chat)))
  for (const { chat } of clients) await settled(chat, channelId)

  for (const [index, { chat }] of clients.entries()) {
    const { chat: fresh } = await liveChatOf(world(), [ana, ben][index]?.id ?? '')
    const expected = await shown(fresh, place, [old.id])
    await expect.poll(() => shown(chat, place, [old.id])).toEqual(expected)
    fresh.disconnect()
  }
  for (const stop of [...watching, ...stops]) stop()
  for (const { chat } of clients) chat.disconnect()
}

/** Nothing is on its way any more. */
const settled = (chat: ChatClient, channelId: string) =>
  until(
    chat.channel(channelId).messages,
    (shown) => ready(shown) && shown.items.every(({ status }) => status !== 'pending'),
  )

/** A round trip, in which news may travel. */
const channelHeard = (user: User, channelId: string) => user.channels.get({ channelId })

/** Refusals are part of life. */
const tolerate = (error: unknown) => {
  if (
    !isChatError(error) ||
    !['NOT_FOUND', 'FORBIDDEN', 'VALIDATION_ERROR', 'NETWORK_ERROR'].includes(error.code)
  )
    throw error
}

async function perform(
  { does, pick }: Step,
  {
    chat,
    proxy,
    channelId,
    otherId,
    both,
    user,
  }: Place & { chat: ChatClient; proxy: Network; user: User },
) {
  const room = chat.channel(channelId)
  const messages = room.messages.getSnapshot().items.filter(({ status }) => status === 'sent')
  const { id = '' } = messages[pick % messages.length] ?? {}
  const emoji = ['👍', '🎉', '❤️'][pick % 3] ?? ''
  if (does === 'send') await room.send({ text: `${pick}` }).sent
  if (does === 'reply') await room.send({ text: `reply ${pick}`, parentId: id }).sent
  if (does === 'edit') await room.edit(id, { text: `edited ${pick}` })
  if (does === 'delete') await room.delete(id)
  if (does === 'react') await room.react(id, emoji)
  if (does === 'unreact') await room.unreact(id, emoji)
  if (does === 'pin') await room.pin(id)
  if (does === 'unpin') await room.unpin(id)
  if (does === 'read') await room.markRead(pick % 2 ? id : undefined)
  if (does === 'join')
    await (pick % 2
      ? user.members.add({ channelId, userIds: ['cem', 'dora'] })
      : user.members.remove({ channelId, userId: 'cem' }))
  if (does === 'elsewhere')
    await user.messages.send({ channelId: otherId, text: `elsewhere ${pick}` })
  if (does === 'readElsewhere') await user.reads.mark({ channelId: otherId })
  if (does === 'goElsewhere')
    await (pick % 2
      ? user.members.leave({ channelId: otherId })
      : user.members.add({ channelId: otherId, userIds: both }))
  if (does === 'settings')
    await user.channels.updateSettings({
      channelId: pick % 2 ? channelId : otherId,
      starred: pick % 3 === 0,
      muted: pick % 5 === 0,
    })
  if (does === 'cut') proxy.cut()
  if (does === 'mend') proxy.mend()
  if (does === 'reset') proxy.reset()
  if (does === 'slow') proxy.delay(pick % 40)
}
