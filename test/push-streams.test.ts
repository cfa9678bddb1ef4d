import type { Message } from '@parley/contract'
import { runInTransaction } from '@parley/server/core/context'
import { acceptedTasks, createJobStaging } from '@parley/server/core/jobs'
import { storeStream } from '@parley/server/features/streams/store'
import { expect, test } from 'vitest'
import { idle } from './support/idle.ts'
import { usePushChannel } from './support/push.ts'

type Begun = { attachments?: Message['attachments']; silent?: boolean }

const photo = { type: 'image', url: 'https://example.com/soup.png' }

const { world, current, pushesTo } = usePushChannel()

const begin = async (begun: Begun = {}) => {
  const { ana, channelId } = current()
  const { id } = await ana.messages.send({ channelId, text: '', streaming: true, ...begun })
  const ref = { channelId, messageId: id }
  const edit = (text: string) => ana.messages.edit({ ...ref, text })
  return { ref, edit, finish: () => ana.streams.finish(ref) }
}

const interrupt = (ref: { channelId: string; messageId: string }) => {
  const { pool, appId } = world()
  const publisher = { publish: () => {}, broadcast: () => {} }
  const staging = createJobStaging(acceptedTasks({ isOn: true, hasPush: true }))
  const options = { appId, publisher, staging }
  const times = { storeMs: 0, quietMs: 0, longestMs: 0 }
  return pool.use((db) =>
    runInTransaction(db, options, (tx) => storeStream(tx, { appId, ...ref }, times)),
  )
}

/** The previews that ben got so far, each with its message. */
const pushed = async () => {
  await idle(world())
  return pushesTo(current().ben.id).map(({ payload }) => [
    payload.messageId,
    payload.messagePreview,
  ])
}

test('a message interrupted before its first word is pushed once it is completed', async () => {
  const { ref, edit } = await begin()
  await interrupt(ref)
  expect(await current().ana.messages.get(ref)).toMatchObject({ interrupted: true, text: '' })
  expect(await pushed()).toEqual([])
  await edit('soup')
  expect(await pushed()).toEqual([[ref.messageId, 'soup']])
  await edit('stew')
  expect(await pushed()).toEqual([[ref.messageId, 'soup']])
})

test('a message that ended without a word is pushed at its first text, unless silent', async () => {
  const [spoken, silent] = [await begin(), await begin({ silent: true })]
  for (const { finish, ref } of [spoken, silent]) {
    await finish()
    await current().ana.messages.edit({ ...ref, custom: { lang: 'en' } })
  }
  expect(await pushed()).toEqual([])
  for (const { edit } of [spoken, silent]) await edit('soup')
  expect(await pushed()).toEqual([[spoken.ref.messageId, 'soup']])
})

test('a message that ends with attachments alone is pushed once, then', async () => {
  const { ref, edit, finish } = await begin({ attachments: [photo] })
  await finish()
  expect(await pushed()).toEqual([[ref.messageId, '']])
  await edit('soup')
  await edit('')
  await edit('stew')
  expect(await pushed()).toEqual([[ref.messageId, '']])
})

test('a message interrupted amid its text is not pushed again when it is completed', async () => {
  const { ref, edit } = await begin()
  await current().ana.streams.append({ ...ref, at: 0, text: 'so' })
  await interrupt(ref)
  expect(await pushed()).toEqual([[ref.messageId, 'so']])
  await edit('soup')
  expect(await pushed()).toEqual([[ref.messageId, 'so']])
})
