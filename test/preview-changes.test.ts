import { expect, test } from 'vitest'
import { channelEventsOf } from './support/events.ts'
import { page } from './support/pages.ts'
import { usePreviews } from './support/previews.ts'

/** Previews of messages that change meanwhile. */

const scene = usePreviews()

test('a message deleted while its link is fetched gets no preview', async () => {
  const { web, ana, channelId, send, idle, updatesOf, slowPage } = scene()
  const slow = slowPage('/deleted', page('<title>Late</title>'))
  const { id } = await send(`${web.url}/deleted`)
  await slow.requested
  await ana.messages.delete({ channelId, messageId: id })
  slow.answer()
  await idle()
  const { messages } = await ana.messages.list({ channelId, since_seq: 0 })
  expect(messages.find((message) => message.id === id)).toMatchObject({
    text: '',
    deletedAt: expect.any(String),
  })
  expect(messages.find((message) => message.id === id)).not.toHaveProperty('linkPreviews')
  expect(await updatesOf(id)).toEqual([])
})

test('a deleted message keeps nothing of its preview', async () => {
  const { web, world, ana, channelId, send, previewed, idle } = scene()
  web.pages['/plans'] = page('<title>Hidden plans</title>')
  const { id: messageId } = await send(`${web.url}/plans`)
  const before = (await ana.channels.get({ channelId })).rev
  await previewed(messageId)
  await idle()
  await ana.messages.delete({ channelId, messageId })
  const stored = await world.db<{ row: string }[]>`
    select msg::text as row from messages msg
    union all
    select e::text from events e`
  const answers = [
    await ana.messages.list({ channelId }),
    await ana.messages.list({ channelId, since_seq: 0 }),
    await ana.sync.pull({ channels: { [channelId]: before } }),
    await ana.channels.get({ channelId }),
  ]
  const shown = [...stored.map(({ row }) => row), ...answers.map((each) => JSON.stringify(each))]
  expect(shown.filter((text) => /Hidden plans|\/plans/.test(text))).toEqual([])
  expect(JSON.stringify(answers[2])).toContain(messageId)
})

test('a message edited while its link is fetched gets the previews of its new text', async () => {
  const { web, ana, channelId, send, previewed, titles, idle, updatesOf, slowPage } = scene()
  const slow = slowPage('/old', page('<title>Old</title>'))
  const { id } = await send(`${web.url}/old`)
  await slow.requested
  await ana.messages.edit({ channelId, messageId: id, text: `rather ${web.url}/a` })
  await previewed(id)
  slow.answer()
  await idle()
  expect(await titles(id)).toEqual(['A'])
  expect(await updatesOf(id)).toHaveLength(2)
})

test('an edit removes at once the previews of links it removes, and keeps the others', async () => {
  const { web, ana, channelId, send, previewed, idle, updatesOf } = scene()
  const { id } = await send(`${web.url}/a ${web.url}/b`)
  await previewed(id)
  const { createdAt, updatedAt } = await ana.messages.get({ channelId, messageId: id })
  expect(Date.parse(updatedAt)).toBeGreaterThan(Date.parse(createdAt))
  const edited = await ana.messages.edit({ channelId, messageId: id, text: `only ${web.url}/b` })
  expect(edited.linkPreviews?.map(({ title }) => title)).toEqual(['B'])
  expect(await ana.messages.edit({ channelId, messageId: id, text: 'none' })).not.toHaveProperty(
    'linkPreviews',
  )
  await idle()
  expect(await updatesOf(id)).toHaveLength(3)
})

test('a link that an edit adds gets its preview beside those that are there', async () => {
  const { web, ana, channelId, send, previewed, titles, idle } = scene()
  const { id } = await send(`${web.url}/a`)
  await previewed(id)
  await ana.messages.edit({ channelId, messageId: id, text: `${web.url}/a ${web.url}/b` })
  await idle()
  expect(await titles(id)).toEqual(['A', 'B'])
})

test('a message whose channel is deleted while its link is fetched is not updated', async () => {
  const { web, world, ana, idle, slowPage } = scene()
  const gone = await ana.channels.create({ type: 'group', name: 'Gone' })
  const slow = slowPage('/gone', page('<title>Gone</title>'))
  await ana.messages.send({ channelId: gone.id, text: `${web.url}/gone` })
  await slow.requested
  await ana.channels.delete({ channelId: gone.id })
  slow.answer()
  await idle()
  expect((await channelEventsOf(world, gone.id)).at(-1)?.type).toBe('channel.deleted')
})

test('a preview job that runs twice updates the message once', async () => {
  const { web, world, send, previewed, idle, updatesOf } = scene()
  const { id } = await send(`${web.url}/a twice`)
  await previewed(id)
  const job = world.db.json({ appId: world.appId, messageId: id })
  await world.db`
    insert into staged_jobs (task, payload)
    select 'preview', ${job}
    from generate_series(1, 2)`
  await idle()
  expect(await updatesOf(id)).toHaveLength(1)
})
