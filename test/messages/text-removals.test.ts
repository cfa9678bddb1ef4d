import { topics } from '@parley/contract'
import type { Tx } from '@parley/server/db/client'
import { eraseUsers } from '@parley/server/jobs/erasure'
import { createErasurePositions, type ErasureContext } from '@parley/server/jobs/erasure-context'
import { createChannelPurge } from '@parley/server/jobs/purge-channels'
import { createTextRemoval } from '@parley/server/jobs/text-removals'
import { expect, onTestFinished, test } from 'vitest'
import { cleanupElsewhere, erased } from '../support/cleanup.ts'
import { copyLastMessage } from '../support/copies.ts'
import { erasureContext } from '../support/erasing.ts'
import { waitingForRows, whileLocked, whileRowLocked, withoutCleanup } from '../support/locks.ts'
import { centrifugeOf, listen } from '../support/realtime.ts'
import { until } from '../support/until.ts'
import { useWorld } from '../support/world.ts'
import { talkIn } from './fixture.ts'

const world = useWorld()
const talk = talkIn(world)
const SECRET = 'a secret soup'

/** The number of stored events with the text. */
async function storedWith(text: string) {
  const [row] = await world().db<{ count: number }[]>`
    select count(*)::int
    from events
    where envelope like ${`%${text}%`}`
  return row?.count
}
const removals = () => world().db<{ topic: string }[]>`
  select topic
  from text_removals`
/** Waits until the cleanup, here or elsewhere, has removed all texts. */
const allRemoved = () =>
  until(async () => {
    await world().cleanup.run()
    return (await removals()).length === 0
  })

/** A message that others have quoted often, and the client of one of them. */
async function quotedOften(times: number) {
  const { ana, ben, channelId, say } = await talk()
  const topic = topics.channel(world().appId, channelId)
  const [service] = await world().db<{ epoch: string }[]>`
    select value as epoch
    from service
    where key = 'epoch'`
  const listenFrom = (offset: number) => {
    const client = centrifugeOf(world(), ben)
    onTestFinished(() => client.disconnect())
    return listen(client, topic, { since: { offset, epoch: service?.epoch ?? '' } })
  }
  const secret = await say(SECRET)
  const quoting = { channelId, text: 'psst', quotedMessageId: secret.id }
  const quote = await ben.messages.send(quoting)
  await copyLastMessage(world(), quote, times - 1)
  return { ana, ben, channelId, say, secret, quote, quoting, topic, listenFrom }
}

test('deleting a message with 2,000 quotes rewrites few events, and none shows it', async () => {
  const { ana, ben, channelId, secret, listenFrom } = await quotedOften(2_000)
  await ana.messages.delete({ channelId, messageId: secret.id })
  expect(await storedWith(SECRET)).toBeGreaterThanOrEqual(2_000)
  const last = await ben.messages.send({ channelId, text: 'later' })
  const listener = await listenFrom(last.rev - 200)
  await listener.untilType('message.deleted')
  const received = JSON.stringify(listener.received)
  expect(received.match(/"attachmentCount":0/g)?.length).toBeGreaterThan(100)
  expect(received).not.toContain(SECRET)
  const { publications } = await listener.subscription.history({ limit: 500 })
  expect(publications).toHaveLength(500)
  expect(JSON.stringify(publications)).not.toContain(SECRET)

  await allRemoved()
  expect(await storedWith(SECRET)).toBe(0)
  const again = await listenFrom(last.rev - 200)
  await again.untilType('message.deleted')
  expect(again.received).toEqual(listener.received)
})

test('a deleted message with 100 edits and quotes has lost its text for all readers', async () => {
  const often = await quotedOften(101)
  const { ana, ben, channelId, secret, quoting, topic, listenFrom } = often
  const ref = { channelId, messageId: secret.id }
  for (let edits = 0; edits < 101; edits++)
    await ana.messages.edit({ ...ref, text: `${SECRET} ${edits}` })
  const other = await ben.messages.send({ ...quoting, text: `no ${secret.id}` })
  await ben.messages.edit({ channelId, messageId: other.id, text: `no more ${secret.id}` })
  const late = await ben.messages.send({ ...quoting, text: 'late' })
  const kept = await ben.messages.send({ channelId, text: 'kept', quotedMessageId: other.id })
  await ana.messages.delete(ref)
  expect(await removals()).toContainEqual({ topic })
  const shown = async () => {
    const listener = await listenFrom(secret.rev - 1)
    await listener.untilType('message.deleted')
    const { publications } = await listener.subscription.history({ limit: 500 })
    const read = JSON.stringify([listener.received, publications])
    expect(read).not.toContain(SECRET)
    const others = `"quotedMessage":${JSON.stringify(kept.quotedMessage)}`
    expect(JSON.stringify(publications)).toContain(others)
    return publications.map(({ data }) => data)
  }
  const masked = await shown()
  await ben.messages.delete({ channelId, messageId: late.id })
  await allRemoved()
  expect(await storedWith(SECRET)).toBe(0)
  const types = await world().db`
    select type
    from events
    where message_id = ${secret.id}`
  expect(new Set(types.map(({ type }) => type))).toEqual(new Set(['message.deleted']))
  const isOther = (event: unknown) => !JSON.stringify(event).includes(late.id)
  expect((await shown()).filter(isOther)).toEqual(masked.filter(isOther))
})

test('a killed removal of a text goes on where it was, and the text is not shown', async () => {
  const { ana, channelId, secret, topic, listenFrom } = await quotedOften(600)
  const ref = { channelId, messageId: secret.id }
  const killed = cleanupElsewhere(world(), { mayFail: true })
  // It waits for an event of a later step, which another transaction is reading.
  const lastQuote = (sql: Tx) => sql`
    select
    from events
    where topic = ${topic}
      and "offset" = ${secret.rev + 590}
    for update`
  await whileRowLocked(world(), lastQuote, async () => {
    await ana.messages.delete(ref)
    const pass = killed.run()
    await waitingForRows(world(), 1)
    const ended = await world().db`
      select pg_terminate_backend(pid)
      from pg_stat_activity
      where datname = current_database()
        and application_name = 'parley-test-elsewhere'`
    expect(ended.length).toBeGreaterThan(0)
    await killed.stop()
    await pass
  })
  const left = await storedWith(SECRET)
  // Slow steps get shorter, and more of them are over by then.
  expect(left).toBeGreaterThan(0)
  expect(left).toBeLessThan(600)
  const shown = async () => {
    const listener = await listenFrom(secret.rev - 1)
    await listener.untilType('message.deleted')
    expect(JSON.stringify(listener.received)).not.toContain(SECRET)
    return listener.received
  }
  const masked = await shown()
  await allRemoved()
  expect(await storedWith(SECRET)).toBe(0)
  expect(await shown()).toEqual(masked)
})

test('a user is not erased before their text is gone from all quotes of it', async () => {
  const { secret } = await quotedOften(300)
  await world().backend.users.delete({ userId: secret.userId })
  await erased(world())
  expect(await storedWith(SECRET)).toBe(0)
  expect(await removals()).toEqual([])
})

test('a channel whose texts were removed once has later ones removed as well', async () => {
  const { ana, ben, channelId, say, secret, quoting } = await quotedOften(300)
  const positions = createErasurePositions()
  // A step has a message and its quotes, and ends right before the deletion.
  const context = erasureContext(world(), { positions, rows: 301, steps: 100 })
  await withoutCleanup(world(), async () => {
    const remove = createTextRemoval()
    await ana.messages.delete({ channelId, messageId: secret.id })
    await remove(context)
    expect(await removals()).toEqual([])
    const { id: messageId } = await say(SECRET)
    const quote = await ben.messages.send({ ...quoting, quotedMessageId: messageId })
    await copyLastMessage(world(), quote, 299)
    await ana.messages.delete({ channelId, messageId })
    expect(await removals()).toHaveLength(1)
    await remove(context)
    expect(await removals()).toEqual([])
  })
})

test('a removal for which a turn was too short goes on in the very next pass', async () => {
  const { ana, channelId, secret } = await quotedOften(300)
  const positions = createErasurePositions()
  await withoutCleanup(world(), async () => {
    const remove = createTextRemoval()
    await ana.messages.delete({ channelId, messageId: secret.id })
    const short = erasureContext(world(), { positions, rows: 50, steps: 2 })
    await expect(remove(short)).rejects.toThrow()
    expect(await removals()).toHaveLength(1)
    await remove(erasureContext(world(), { positions, rows: 1_000 }))
    expect(await removals()).toEqual([])
  })
})

test('stored events are rewritten only while their channel is locked', async () => {
  const { ana, channelId, secret } = await quotedOften(300)
  const context = erasureContext(world(), { positions: createErasurePositions(), rows: 1_000 })
  await withoutCleanup(world(), async () => {
    await ana.messages.delete({ channelId, messageId: secret.id })
    const left = await storedWith(SECRET)
    expect(left).toBeGreaterThan(0)
    const removal = await whileLocked(world(), channelId, async (waiting) => {
      const removal = createTextRemoval()(context)
      await waiting(1)
      expect(await storedWith(SECRET)).toBe(left)
      return { removal }
    })
    await removal.removal
    expect(await storedWith(SECRET)).toBe(0)
  })
})

test.each([
  ['the purge', (context: ErasureContext) => createChannelPurge()(context)],
  ['the erasure of a member', eraseCem],
])(
  'a text is gone from quotes before %s takes the messages of a deleted channel',
  async (_, purge) => {
    const { ana, channelId, secret } = await quotedOften(300)
    const positions = createErasurePositions()
    const context = erasureContext(world(), { positions, rows: 1_000 })
    // The events of a channel are kept after its messages, for webhooks.
    await world().db`
      insert into webhooks (id, app_id, url, events, enabled, secret)
      values (gen_random_uuid(), ${world().appId}, 'https://example.com', '{}', false, 'secret')`
    await withoutCleanup(world(), async () => {
      await ana.members.add({ channelId, userIds: ['cem'] })
      await ana.messages.delete({ channelId, messageId: secret.id })
      await ana.channels.delete({ channelId })
      expect(await storedWith(SECRET)).toBeGreaterThan(0)
      await purge(context)
      expect(await storedWith(SECRET)).toBe(0)
    })
    const messages = await world().db`
      select
      from messages
      where channel_id = ${channelId}`
    expect(messages).toHaveLength(0)
  },
)

async function eraseCem(context: ErasureContext) {
  await world().backend.users.delete({ userId: 'cem' })
  await eraseUsers(context, { appId: world().appId, userIds: ['cem'] })
}
