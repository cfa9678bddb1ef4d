import type { ImportRecord } from '@parley/client/server'
import { topics } from '@parley/contract'
import { eraseUsers } from '@parley/server/jobs/erasure'
import { createErasurePositions } from '@parley/server/jobs/erasure-context'
import { expect, test } from 'vitest'
import { channel, message, post, user } from '../imports/records.ts'
import { dump } from '../support/dump.ts'
import { erasureContext } from '../support/erasing.ts'
import { upTo } from '../support/events.ts'
import { withoutCleanup } from '../support/locks.ts'
import { useWorld } from '../support/world.ts'

let walked = 0
const onStatement = (statement: string) => {
  if (statement.includes('with slice as materialized')) walked += 1
}
const world = useWorld({ onStatement })

/** A word in every text of a user. */
const MARKER = 'Quokka-5c1e'
const marked = async () => (await dump(world())).filter((row) => row.includes(MARKER))
const line = (record: ImportRecord) => `${JSON.stringify(record)}\n`

const endOfTurn = () => {
  throw new Error('the turn is over')
}

/** Erases in the smallest steps, in at most this many of them. */
const erasing = (
  positions: ReturnType<typeof createErasurePositions>,
  userIds: string[],
  steps?: number,
) => {
  const cut = { positions, ...(steps !== undefined && { steps }) }
  return eraseUsers(erasureContext(world(), cut), { appId: world().appId, userIds })
}

test('an interrupted erasure of waiting records continues for all deleted users', async () => {
  const { appId } = world()
  const messages = upTo(12).flatMap((n) =>
    ['ivy', 'jo'].map((by) => message(`${by}${n}`, 'cut', { userId: by, text: MARKER })),
  )
  const records = [user('ivy'), user('jo'), user('kim'), channel('cut'), ...messages]
  await post(world(), `${records.map(line).join('')}{"record"`)
  const positions = createErasurePositions()
  await withoutCleanup(world(), async () => {
    await world().backend.users.delete({ userId: 'ivy' })
    await expect(erasing(positions, ['ivy'], 3)).rejects.toThrow('the turn is over')
    const place = positions.walks.get(appId)
    expect(place?.walk?.key).not.toBe('')
    // The walk may have passed texts of this user.
    await world().backend.users.delete({ userId: 'jo' })
    await erasing(positions, ['jo'])
    expect(await marked()).toEqual([])
    await erasing(positions, ['ivy'])
    expect(positions.walks.size).toBe(0)
    expect(await marked()).toEqual([])
  })
})

test('records of unfinished imports are searched once, however often erasure stops', async () => {
  const { appId, backend } = world()
  const lea = await world().user('lea')
  await lea.channels.create({ type: 'group', name: 'Live' })
  const wait = (ids: string[]) => {
    const messages = ids.map((id) => message(id, 'once', { userId: 'lea', text: MARKER }))
    const records = [user('max'), channel('once'), ...messages]
    return post(world(), `${records.map(line).join('')}{"record"`)
  }
  const positions = createErasurePositions()
  /** How many steps look at waiting records, in a pass that ends with the first channel. */
  const pass = async (): Promise<number> => {
    walked = 0
    await expect(erasing({ ...positions, get: endOfTurn }, ['lea'])).rejects.toThrow(
      'the turn is over',
    )
    return walked
  }
  await wait(['o1', 'o2', 'o3', 'o4', 'o5', 'o6'])
  await withoutCleanup(world(), async () => {
    await backend.users.delete({ userId: 'lea' })
    expect(await pass()).toBeGreaterThan(1)
    expect(await pass()).toBe(0)
    expect(await marked()).toEqual([])
    const known = positions.walks.get(appId)
    await erasing(positions, ['lea'])
    expect(positions.walks.size).toBe(0)
    // Another process has erased them, the id was used again, and deleted again.
    if (known) positions.walks.set(appId, known)
    await world().user('lea')
    await wait(['o7'])
    await backend.users.delete({ userId: 'lea' })
    await erasing(positions, ['lea'])
    expect(await marked()).toEqual([])
  })
})

test('all messages in a channel that no one sees yet are emptied, in small steps', async () => {
  const { db, appId } = world()
  const [ann, bea] = await world().users('unseen-ann', 'unseen-bea')
  const group = { name: 'Unseen', memberIds: [ann.id] }
  const { id: channelId } = await bea.channels.create({ type: 'group', ...group })
  for (const _ of upTo(3)) await ann.messages.send({ channelId, text: MARKER })
  await withoutCleanup(world(), async () => {
    // A channel looks like this while an import brings it.
    await db`delete from events where topic = ${topics.channel(appId, channelId)}`
    await db`
      update channels
      set deleted_at = 'infinity'
      where id = ${channelId}`
    await world().backend.users.delete({ userId: ann.id })
    await erasing(createErasurePositions(), [ann.id])
    expect(await marked()).toEqual([])
    const members = await db`
      select user_id
      from members
      where channel_id = ${channelId}`
    expect(members).toMatchObject([{ userId: bea.id }])
  })
})

test('messages after one that their author had deleted are emptied as well', async () => {
  const { db } = world()
  const [una, bea] = await world().users('gap-una', 'gap-bea')
  const group = { name: 'Gap', memberIds: [una.id] }
  const { id: channelId } = await bea.channels.create({ type: 'group', ...group })
  const first = await una.messages.send({ channelId, text: 'first' })
  await una.messages.send({ channelId, text: MARKER, clientId: 'gap' })
  await una.messages.delete({ channelId, messageId: first.id })
  await withoutCleanup(world(), async () => {
    await world().backend.users.delete({ userId: una.id })
    await erasing(createErasurePositions(), [una.id])
    expect(await marked()).toEqual([])
    // A new user of this id would get that message as the answer to their own.
    expect(await db`select from messages where client_id = 'gap'`).toEqual([])
  })
})

test('an erasure that was cut goes on with the texts of a channel deleted since', async () => {
  const { db, appId } = world()
  await db`
    insert into webhooks (id, app_id, url, events, enabled, secret)
    values (gen_random_uuid(), ${appId}, 'https://example.com', '{}', false, 'secret')`
  const [ana, ben] = await world().users('cut-ana', 'cut-ben')
  const group = { name: 'Cut', memberIds: [ana.id] }
  const { id: channelId } = await ben.channels.create({ type: 'group', ...group })
  const attachments = [{ type: 'image' as const, url: 'https://example.com/cat.png' }]
  const { id: quotedMessageId } = await ana.messages.send({ channelId, text: MARKER, attachments })
  await ben.messages.send({ channelId, text: 'see', quotedMessageId })
  const positions = createErasurePositions()
  /** Ends the turn once the names are out of the events, and the messages are still there. */
  const cut = { ...positions, get: endOfTurn }
  await withoutCleanup(world(), async () => {
    await world().backend.users.delete({ userId: ana.id })
    await expect(erasing(cut, [ana.id])).rejects.toThrow('the turn is over')
    await ben.channels.delete({ channelId })
    await erasing(positions, [ana.id])
    expect(await marked()).toEqual([])
    const quotes = await db`
      select envelope::json #> '{payload,message,quotedMessage}' as shown
      from events
      where topic = ${topics.channel(appId, channelId)}
        and type = 'message.new'`
    const shown = { id: quotedMessageId, text: '', attachmentCount: 0, attachmentType: null }
    expect(quotes).toMatchObject([{ shown }])
  })
})
