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
  const typesOf = () => world().db<{ type: string; written: string }[]>`
    select type, envelope::json->>'type' as written
    from events
    where message_id = ${messageId}
    order by "offset"`
  expect((await typesOf()).map(({ type }) => type)).toEqual(['message.new', 'message.updated'])
  await ana.messages.delete({ channelId, messageId })
  const deleted = { type: 'message.deleted', written: 'message.deleted' }
  expect(await typesOf()).toEqual([deleted, deleted, deleted])
  const rows = await world().db`select from events where type <> envelope::json->>'type'`
  expect(rows).toHaveLength(0)
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
