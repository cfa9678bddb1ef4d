import { envelopeIn } from '@parley/server/core/stored-envelope'
import { connectOnce } from '@parley/server/db/client'
import { migrate } from '@parley/server/db/migrate'
import { expect, onTestFinished, test } from 'vitest'
import { createEmptyDatabase, migrateUpTo } from './support/migrations.ts'
import { useWorld } from './support/world.ts'

const world = useWorld()

test('an event has the type of its envelope, before and after its message is deleted', async () => {
  const [ana] = await world().users('ana', 'ben')
  const { id: channelId } = await ana.channels.create({
    type: 'group',
    name: 'Talk',
    memberIds: ['ben'],
  })
  const { id: messageId } = await ana.messages.send({ channelId, text: 'hi' })
  await ana.pins.pin({ channelId, messageId })
  type Row = Parameters<typeof envelopeIn>[0] & { type: string }
  const typesOf = async () => {
    const rows = await world().db<Row[]>`
      select type, topic, "offset", message_id as "messageId", envelope
      from events
      order by "offset"`
    for (const row of rows) expect(JSON.parse(envelopeIn(row)).type).toBe(row.type)
    return rows.filter((row) => row.messageId === messageId).map(({ type }) => type)
  }
  expect(await typesOf()).toEqual(['message.new', 'message.updated'])
  await ana.messages.delete({ channelId, messageId })
  expect(await typesOf()).toEqual(Array(3).fill('message.deleted'))
})

test('the migration sets the type of existing events from their envelopes', async () => {
  const url = await createEmptyDatabase()
  await migrateUpTo(url, '0004_indexes')
  const sql = connectOnce(url)
  onTestFinished(() => sql.end())
  const before = [
    { type: 'message.new', payload: { message: { text: '{"type":"typing.start"} \\ "😀"\n' } } },
    { type: 'message.deleted', payload: { seq: 1 } },
    { type: 'channel.member_left', payload: { userId: 'ben', user: { type: 'odd' } } },
    { type: 'workspace.removed', payload: {} },
  ]
  for (const [index, event] of before.entries())
    await sql`
      insert into events (topic, "offset", envelope)
      values ('chat:app:channel', ${index + 1}, ${JSON.stringify(event)})`
  await migrate(url)
  const after = await sql<{ type: string; envelope: string }[]>`
    select type, envelope from events order by "offset"`
  expect(after.map(({ type }) => type)).toEqual(before.map(({ type }) => type))
  expect(after.map(({ envelope }) => JSON.parse(envelope))).toEqual(before)
  await expect(
    sql`insert into events (topic, "offset", envelope) values ('chat:app:channel', 9, '{}')`,
  ).rejects.toThrow(/null value in column "type"/)
})
