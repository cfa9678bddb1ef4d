import { resumeEarlier } from '@parley/server/jobs/push/earlier'
import { expect, test } from 'vitest'
import { useGivenUpJobs } from './support/given-up-jobs.ts'
import { idle } from './support/idle.ts'
import { until } from './support/until.ts'

const { world, provider, givenUpJobs, retry, stageOld, sendMessage } = useGivenUpJobs()

/** The payloads of all jobs in the queue's table. */
const storedJobs = async () => {
  const rows = await world().db<{ payload: string }[]>`
    select job.payload::text as payload
    from graphile_worker._private_jobs job`
  return rows.map(({ payload }) => payload).join('\n')
}
const retryAll = async () => {
  for (const { id } of await givenUpJobs()) await retry(id)
  await idle(world())
}

test('a refused push is kept without its text, and not sent about what was deleted', async () => {
  const [cleo, dan] = [
    await world().user('cleo', { name: 'Cleo Claro' }),
    await world().user('dan', { name: 'Dan Dorado' }),
  ]
  await idle(world())
  provider().behave(provider().answer(422))
  const { id: channelId } = await cleo.channels.create({
    type: 'group',
    name: 'Surprise party',
    memberIds: ['dan'],
  })
  const gone = await dan.messages.send({ channelId, text: 'a cake for Ana' })
  const kept = await cleo.messages.send({ channelId, text: 'and balloons' })
  await dan.reactions.add({ channelId, messageId: kept.id, emoji: '🎈' })
  await idle(world())
  const tasks = async () => (await givenUpJobs()).map(({ task }) => task).sort()
  expect(await tasks()).toEqual(['push-invite', 'push-message', 'push-message', 'push-reaction'])
  expect(await storedJobs()).not.toMatch(/cake|balloons|party|claro|dorado/i)

  await dan.messages.delete({ channelId, messageId: gone.id })
  provider().forget()
  await retryAll()
  // The pushes that are refused again are about what still exists.
  const sent = provider().triggered()
  expect(sent.map(({ name }) => name).sort()).toEqual(['channel-invite', 'new-message', 'reaction'])
  expect(JSON.stringify(sent)).not.toContain('cake')

  await world().backend.users.delete({ userId: 'dan' })
  provider().behave()
  provider().forget()
  await retryAll()
  expect(provider().triggered()).toEqual([])
  expect(await givenUpJobs()).toEqual([])
})

test('a push that is put off is made again from the message as it is by then', async () => {
  const { id: messageId, channelId } = await sendMessage()
  const [ana] = await world().users('ana')
  const { id: goneId } = await ana.messages.send({ channelId, text: 'never mind' })
  await idle(world())
  provider().forget()
  provider().behave(provider().answer(503))
  for (const id of [messageId, goneId]) await stageOld(id, { hours: 0 })
  const { db } = world()
  await until(async () => {
    const held = await db<{ size: number }[]>`
      update graphile_worker._private_jobs
      set run_at = now() + interval '1 hour'
      where (payload->>'tries')::int > 0
        and locked_at is null
      returning json_array_length(payload->'jobs') as size`
    return held.reduce((sum, { size }) => sum + size, 0) === 2
  })
  await ana.messages.edit({ channelId, messageId, text: 'good morning' })
  await ana.messages.delete({ channelId, messageId: goneId })
  provider().forget()
  provider().behave()
  await db`
    update graphile_worker._private_jobs
    set run_at = now()`
  await idle(world())
  expect(provider().triggered()).toMatchObject([
    {
      to: 'ben',
      transactionId: `${messageId}:ben:new-message`,
      payload: { messagePreview: 'good morning' },
    },
  ])
})

test('pushes that an earlier version stored with their texts are made again, too', async () => {
  const { id: messageId, channelId } = await sendMessage()
  const [ana, ben] = await world().users('ana', 'ben')
  await ana.reactions.add({ channelId, messageId, emoji: '👋' })
  await ben.reactions.add({ channelId, messageId, emoji: '👋' })
  await idle(world())
  provider().forget()
  const { appId, db } = world()
  const stored = (name: string, to: string, payload: object) => ({
    appId,
    name,
    to,
    payload: { channelId, messagePreview: 'as it was', ...payload },
    transactionId: `${name === 'channel-invite' ? channelId : messageId}:${to}:${name}`,
  })
  const batches = [
    [stored('thread-reply', 'ben', { threadId: 'a' }), stored('mention', 'ana', { messageId })],
    [stored('reaction', 'ana', { messageId, reactorId: 'ben', emoji: '👋' })],
    [stored('channel-invite', 'ben', { invitedBy: 'ana' })],
  ]
  for (const jobs of batches)
    await db`
      select
      from graphile_worker.add_job(
        'push-event',
        ${db.json({ jobs, since: new Date().toISOString(), tries: 3 })}::json
      )`
  await idle(world())
  const sent = provider().triggered()
  expect(sent.map(({ name, to }) => `${name} to ${to}`).sort()).toEqual([
    'channel-invite to ben',
    'new-message to ben',
    'reaction to ana',
  ])
  expect(JSON.stringify(sent)).not.toContain('as it was')
})

test('pushes that an earlier version stored under a tenant go to the same users', async () => {
  const made: object[] = []
  const make = async (jobs: object[]) => void made.push(...jobs)
  const tasks = { 'push-message': make, 'push-reaction': make, 'push-invite': make }
  const context = {
    ...{ signal: new AbortController().signal, takenAt: new Date() },
    ...{ continueWith: () => {}, giveUp: async () => {} },
  }
  const stored = (to: string) => ({
    ...{ appId: 'app', name: 'new-message', to, payload: { channelId: 'channel' } },
    transactionId: 'message:ben:new-message',
  })
  await resumeEarlier(tasks, { tenantId: 'acme' })([stored('acme:ben')], context)
  await resumeEarlier(tasks, { tenantId: undefined })([stored('ben')], context)
  const job = { appId: 'app', messageId: 'message', userIds: ['ben'] }
  expect(made).toEqual([job, job])
})
