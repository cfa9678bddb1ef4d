import { topics } from '@parley/contract'
import { RawSocket } from '../socket.ts'
import type { World } from '../world.ts'
import type { BigApp } from './fill.ts'

/** How many rows of a list a search looks at in its order. */
const WALKED = 2_000
/** The tombstones after a marker that are counted one by one. */
const PART = 500

/** An operation, and how many rows it returns. It `grows` with the user's channels, for example. */
export type Operation = {
  returned: number
  /** How many rows it may read beside, whatever the size. */
  beside?: number
  grows?: string
  run: () => Promise<unknown>
}

/** Every kind of operation, on the parts of a big app that are large. */
export async function operationsOn(world: World, { crowd, graves, counts }: BigApp) {
  const { backend, appId, db } = world
  const [ana, ben, busy] = await world.users('ana', 'ben', 'busy')
  const at = async (channelId: string, seq: number) => {
    const [row] = await db<{ id: string }[]>`
      select id
      from messages
      where channel_id = ${channelId}
        and seq = ${seq}`
    return row?.id ?? ''
  }
  const newest = async (limit: number) => {
    const rows = await db<{ id: string }[]>`
      select id
      from messages
      where channel_id = ${crowd}
      order by seq desc
      limit ${limit}`
    return rows.map(({ id }) => id)
  }
  const [middle, recent] = [
    await at(crowd, Math.floor(counts.messagesInCrowd / 2)),
    await at(crowd, counts.messagesInCrowd - 3),
  ]
  const many = await newest(200)
  const ofBusy = counts.channelsOfBusy
  const root = await ana.messages.send({ channelId: crowd, text: 'root' })
  const { nextCursor } = await backend.users.list({ limit: 100, offset: counts.users / 2 })
  const cursor = nextCursor ?? ''
  const { channels } = await busy.channels.list({ limit: 50 })
  const revs = Object.fromEntries(channels.map(({ id, rev }) => [id, rev - 2]))
  const { id: openId } = await ben.channels.create({ type: 'public', name: 'Open' })
  const socket = await RawSocket.connect(world, ana)
  let next = 0
  const unique = () => `unique-${next++}`
  const subscribe = async () => {
    const channel = topics.channel(appId, crowd)
    const id = 2 * next++ + 1
    socket.send({ id, subscribe: { channel } }, { id: id + 1, unsubscribe: { channel } })
    await socket.until((message) => message.id === id + 1)
  }
  const inCrowd = { channelId: crowd }
  const ofRoot = { channelId: crowd, messageId: root.id }
  const operations: Record<string, Operation> = {
    'messages.send': { returned: 1, run: () => ana.messages.send({ ...inCrowd, text: 'hi' }) },
    'messages.send, clientId': {
      returned: 1,
      run: () => ana.messages.send({ ...inCrowd, text: 'hi', clientId: unique() }),
    },
    'messages.send, reply': {
      returned: 1,
      run: () => ana.messages.send({ ...inCrowd, text: 'hi', parentId: root.id }),
    },
    'messages.edit': { returned: 1, run: () => ana.messages.edit({ ...ofRoot, text: unique() }) },
    'streams.append and finish': {
      returned: 2,
      run: async () => {
        const { id } = await ana.messages.send({ ...inCrowd, text: '', streaming: true })
        const ref = { ...inCrowd, messageId: id }
        await ana.streams.append({ ...ref, text: 'hi', at: 0 })
        await ana.streams.finish(ref)
      },
    },
    'messages.send and delete': {
      returned: 1,
      run: async () => {
        const { id: messageId } = await ana.messages.send({ ...inCrowd, text: 'hi' })
        await ana.messages.delete({ ...inCrowd, messageId })
      },
    },
    'messages.list': { returned: 50, run: () => ana.messages.list({ ...inCrowd, limit: 50 }) },
    'messages.list, before': {
      returned: 50,
      run: () => ana.messages.list({ ...inCrowd, before: middle, limit: 50 }),
    },
    'messages.list, behind tombstones': {
      returned: 50,
      run: () => ana.messages.list({ channelId: graves, limit: 50 }),
    },
    'messages.get': {
      returned: 1,
      run: () => ana.messages.get({ channelId: crowd, messageId: middle }),
    },
    'messages.replies': { returned: 20, run: () => ana.messages.replies({ ...ofRoot, limit: 20 }) },
    'reactions.add': {
      returned: 1,
      run: () => ana.reactions.add({ ...ofRoot, emoji: `:${next++}:` }),
    },
    'pins.pin and unpin': {
      returned: 2,
      run: async () => {
        await ana.pins.pin(ofRoot)
        await ana.pins.unpin(ofRoot)
      },
    },
    'channels.get': { returned: 100, run: () => ana.channels.get(inCrowd) },
    'channels.get, behind tombstones': {
      returned: 2,
      beside: 3 * PART,
      run: () => ana.channels.get({ channelId: graves }),
    },
    'channels.list': { returned: 2, beside: 3 * PART, run: () => ana.channels.list({}) },
    'channels.list of busy': {
      returned: 50,
      grows: "the user's channels",
      run: () => busy.channels.list({ limit: 50 }),
    },
    'channels.list, discover': {
      returned: 20,
      run: () => ana.channels.list({ discover: true, limit: 20 }),
    },
    'channels.list, discover, rare q': {
      returned: 1,
      beside: 2 * WALKED,
      run: () => ana.channels.list({ discover: true, q: 'zzz', limit: 20 }),
    },
    'channels.create': {
      returned: 1,
      run: () => ana.channels.create({ type: 'group', name: unique() }),
    },
    'members.list': { returned: 50, run: () => ana.members.list({ ...inCrowd, limit: 50 }) },
    'members.join and leave': {
      returned: 2,
      run: async () => {
        await ana.members.join({ channelId: openId })
        await ana.members.leave({ channelId: openId })
      },
    },
    'reads.mark': { returned: 1, run: () => ana.reads.mark(inCrowd) },
    'reads.mark of busy': {
      returned: 1,
      run: () => busy.reads.mark({ channelId: channels[0]?.id ?? '' }),
    },
    'reads.unreadCount': {
      returned: 2,
      beside: 3 * PART,
      run: () => ben.reads.unreadCount(),
    },
    'reads.unreadCount of busy': {
      returned: ofBusy,
      grows: "the user's channels",
      run: () => busy.reads.unreadCount(),
    },
    'receipts.get': {
      returned: 100,
      grows: 'the readers',
      run: () => ana.receipts.get({ channelId: crowd, messageId: recent }),
    },
    'receipts.get of an old message': {
      returned: counts.members,
      grows: 'the readers',
      run: () => ana.receipts.get({ channelId: crowd, messageId: middle }),
    },
    'receipts.query of 200 messages': {
      returned: counts.members,
      grows: 'the readers',
      run: () => ana.receipts.query({ ...inCrowd, messageIds: many }),
    },
    'receipts.status': { returned: 50, run: () => ana.receipts.status({ ...inCrowd, limit: 50 }) },
    'sync.pull': { returned: 100, run: () => busy.sync.pull({ channels: revs }) },
    'users.list': { returned: 50, run: () => ana.users.list({ limit: 50 }) },
    'users.list, cursor': { returned: 50, run: () => ana.users.list({ limit: 50, cursor }) },
    'users.list, frequent q': {
      returned: 50,
      beside: WALKED,
      run: () => ana.users.list({ q: 'a', limit: 50 }),
    },
    'users.list, q of some': {
      returned: 50,
      grows: 'the users with that name',
      run: () => ana.users.list({ q: 'aei', limit: 50 }),
    },
    'users.list, rare q': {
      returned: 1,
      beside: WALKED,
      run: () => ana.users.list({ q: 'zzz', limit: 50 }),
    },
    'users.list, rare letter': {
      returned: 1,
      beside: WALKED,
      run: () => ana.users.list({ q: 'ж', limit: 50 }),
    },
    'users.get': { returned: 1, run: () => ana.users.get({ userId: 'user-7' }) },
    'users.put': { returned: 1, run: () => backend.users.put({ userId: 'ben', name: unique() }) },
    'tokens.create': { returned: 1, run: () => backend.tokens.create({ userId: 'user-9' }) },
    subscribe: { returned: 1, run: subscribe },
  }
  return operations
}
