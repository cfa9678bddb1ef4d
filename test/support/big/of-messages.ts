import { limits } from '@parley/contract'
import { PINS } from './beside.ts'
import type { Big, Operations } from './operation.ts'

/** Messages and what belongs to them, in a channel of very many members and messages. */
export async function ofMessages(big: Big): Promise<Operations> {
  const { ana, busy, large, tombstones, counts, unique, next, at } = big
  const inLarge = { channelId: large }
  const [middle, recent] = [
    await at(large, Math.floor(counts.messagesInLarge / 2)),
    await at(large, counts.messagesInLarge - 3),
  ]
  const root = await ana.messages.send({ ...inLarge, text: 'root' })
  const ofRoot = { ...inLarge, messageId: root.id }
  const batch = limits.messageBatch.messages
  const { messages: newest } = await ana.messages.list({ ...inLarge, limit: 200 })
  const many = newest.map(({ id }) => id)
  const { channels } = await busy.channels.list({ limit: 50 })
  const revs = Object.fromEntries(channels.map(({ id, rev }) => [id, rev - 2]))
  const rooms = channels.slice(0, limits.sync.rooms).map(({ id }) => id)
  const readers = { of: 'the readers', count: counts.members }
  return {
    'messages.send': { returned: 1, run: () => ana.messages.send({ ...inLarge, text: 'hi' }) },
    'messages.send, clientId': {
      returned: 1,
      run: () => ana.messages.send({ ...inLarge, text: 'hi', clientId: unique() }),
    },
    'messages.send, reply': {
      returned: 1,
      run: () => ana.messages.send({ ...inLarge, text: 'hi', parentId: root.id }),
    },
    'messages.sendBatch': {
      returned: batch,
      times: batch,
      run: () => {
        const messages = Array.from({ length: batch }, () => ({ text: 'hi', clientId: unique() }))
        return ana.messages.sendBatch({ ...inLarge, messages })
      },
    },
    'messages.edit': { returned: 1, run: () => ana.messages.edit({ ...ofRoot, text: unique() }) },
    'streams.append and streams.finish': {
      returned: 2,
      run: async () => {
        const { id } = await ana.messages.send({ ...inLarge, text: '', streaming: true })
        const ref = { ...inLarge, messageId: id }
        await ana.streams.append({ ...ref, text: 'hi', at: 0 })
        await ana.streams.finish(ref)
      },
    },
    'messages.delete after messages.send': {
      returned: 1,
      run: async () => {
        const { id: messageId } = await ana.messages.send({ ...inLarge, text: 'hi' })
        await ana.messages.delete({ ...inLarge, messageId })
      },
    },
    'messages.list': { returned: 50, run: () => ana.messages.list({ ...inLarge, limit: 50 }) },
    'messages.list, before': {
      returned: 50,
      run: () => ana.messages.list({ ...inLarge, before: middle, limit: 50 }),
    },
    'messages.list, behind tombstones': {
      returned: 50,
      run: () => ana.messages.list({ channelId: tombstones, limit: 50 }),
    },
    'messages.get': {
      returned: 1,
      run: () => ana.messages.get({ ...inLarge, messageId: middle }),
    },
    'messages.replies': { returned: 20, run: () => ana.messages.replies({ ...ofRoot, limit: 20 }) },
    'reactions.add and reactions.remove': {
      returned: 2,
      run: async () => {
        const emoji = `:${next()}:`
        await ana.reactions.add({ ...ofRoot, emoji })
        await ana.reactions.remove({ ...ofRoot, emoji })
      },
    },
    'pins.pin and pins.unpin': {
      returned: 2,
      run: async () => {
        await ana.pins.pin(ofRoot)
        await ana.pins.unpin(ofRoot)
      },
    },
    'pins.list': { returned: PINS, run: () => ana.pins.list(inLarge) },
    'reads.mark': { returned: 1, run: () => ana.reads.mark(inLarge) },
    'reads.mark of busy': {
      returned: 1,
      run: () => busy.reads.mark({ channelId: channels[0]?.id ?? '' }),
    },
    'receipts.mark': {
      returned: 1,
      run: () => ana.receipts.mark({ ...inLarge, messageId: recent }),
    },
    'receipts.get': {
      returned: 100,
      grows: readers,
      run: () => ana.receipts.get({ ...inLarge, messageId: recent }),
    },
    'receipts.get of an old message': {
      returned: 100,
      grows: readers,
      run: () => ana.receipts.get({ ...inLarge, messageId: middle }),
    },
    'receipts.query of 200 messages': {
      returned: 200 * limits.readersShown,
      grows: readers,
      times: 200,
      run: () => ana.receipts.query({ ...inLarge, messageIds: many }),
    },
    'receipts.status': { returned: 50, run: () => ana.receipts.status({ ...inLarge, limit: 50 }) },
    'sync.pull': { returned: 100, run: () => busy.sync.pull({ channels: revs }) },
    'sync.pull, pages and members': {
      returned: rooms.length * limits.sync.pageMessages,
      run: () => busy.sync.pull({ channels: revs, pages: rooms, members: rooms }),
    },
    'sync.pull, the other parts': {
      returned: limits.sync.pageMessages + PINS + 2,
      run: () =>
        ana.sync.pull({
          channels: { [large]: limits.largestInteger },
          ...{ roots: [large], threads: [root.id], pins: [large], userIds: ['ana'] },
        }),
    },
  }
}
