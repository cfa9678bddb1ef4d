import { runInTransaction } from '@parley/server/core/context'
import { storeStream } from '@parley/server/features/streams/store'
import { expect, test } from 'vitest'
import { waitingForRows, whileRowLocked } from '../support/locks.ts'
import { forbidden, notFound, refusal } from '../support/refusal.ts'
import { never, useStreams } from './fixture.ts'

type Ref = { channelId: string; messageId: string }

const { world, users, begin } = useStreams({ timings: { streamQuietMs: never } })

test('a streamed message changes at its end, and its tombstone shows nothing', async () => {
  const { ana } = users()
  const { append, finish, ref, message } = await begin()
  await append(0, 'Hi')
  const ended = await finish()
  expect(Date.parse(ended.updatedAt)).toBeGreaterThan(Date.parse(message.updatedAt))
  expect(ended.editedAt).toBeNull()
  await world().db`
    update messages
    set interrupted = true
    where app_id = ${world().appId}
      and id = ${ref.messageId}`
  expect(await ana.messages.get(ref)).toMatchObject({ interrupted: true, streaming: false })
  await world().backend.messages.delete(ref)
  const { messages } = await ana.messages.list({ channelId: ref.channelId, since_seq: 0 })
  expect(messages[0]).toMatchObject({ id: ref.messageId, text: '' })
  expect(Object.keys(messages[0] ?? {})).not.toEqual(
    expect.arrayContaining([expect.stringMatching(/interrupted|streaming/)]),
  )
})

test('a message that grows again after a pause is not taken for one that was left', async () => {
  const { append, ref } = await begin()
  await append(0, 'Hi')
  await world().db`
    update message_streams
    set appended_at = appended_at - interval '1 hour'
    where app_id = ${world().appId}`
  await append(2, '!')
  const [stream] = await world().db<{ isLive: boolean }[]>`
    select appended_at > now() - interval '1 minute' as is_live
    from message_streams
    where message_id = ${ref.messageId}`
  expect(stream).toEqual({ isLive: true })
})

test('text that is appended while a message is finished is in it, or is refused', async () => {
  const { append, finish, ref } = await begin()
  await append(0, 'Hi')
  const { late, finished } = await whileRowLocked(
    world(),
    (sql) => sql`select from messages where id = ${ref.messageId} for update`,
    async () => {
      const finished = finish()
      await waitingForRows(world(), 1)
      const late = append(2, '!').then(
        () => 'Hi!',
        () => 'Hi',
      )
      await Promise.race([late, waitingForRows(world(), 2)])
      return { late, finished }
    },
  )
  expect((await finished).text).toBe(await late)
})

test('a message that grows is stored again only if it has grown', async () => {
  const { append, get, ref } = await begin()
  await append(0, 'Hi')
  const { pool, appId } = world()
  const publisher = { publish: () => {}, broadcast: () => {} }
  const times = { storeMs: 0, quietMs: never, longestMs: never }
  const store = async () => {
    await pool.use((db) =>
      runInTransaction(db, { appId, publisher }, (tx) => storeStream(tx, { appId, ...ref }, times)),
    )
    return get()
  }
  const stored = await store()
  expect(stored).toMatchObject({ text: 'Hi', streaming: true })
  expect(await store()).toEqual(stored)
})

const whatEnds: [string, (ref: Ref) => Promise<unknown>, object][] = [
  [
    'the removal of its author',
    ({ channelId }) => users().ana.members.remove({ channelId, userId: 'bot' }),
    forbidden,
  ],
  [
    'a freeze of the channel',
    ({ channelId }) => world().backend.channels.update({ channelId, frozen: true }),
    forbidden,
  ],
  [
    'the deletion of the channel',
    ({ channelId }) => users().ana.channels.delete({ channelId }),
    notFound,
  ],
]

test.each(whatEnds)('after %s no waiting text is appended', async (_, change, expected) => {
  const { append, ref } = await begin()
  const { appended } = await whileRowLocked(
    world(),
    (sql) => sql`
      select
      from message_streams
      where message_id = ${ref.messageId}
      for update`,
    async () => {
      const appended = refusal(append(0, 'too late'))
      await waitingForRows(world(), 1)
      await change(ref)
      return { appended } // it ends after the lock
    },
  )
  expect(await appended).toEqual(expected)
})
