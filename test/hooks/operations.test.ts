import { expect, test } from 'vitest'
import { waitingForRows, whileRowLocked } from '../support/locks.ts'
import { answering } from '../support/receiver.ts'
import { complaint, conflict, forbidden, invalid, notFound, refusal } from '../support/refusal.ts'
import { until } from '../support/until.ts'
import { newAskerOf } from './asker.ts'
import { deciding, useHooks } from './fixture.ts'

const { current, newScene } = useHooks()
const allow = deciding({ action: 'allow' })

test('a hook that is set again keeps its secret, which no other call shows', async () => {
  const { id: appId, apiKey } = await current().world.operator.apps.create({ name: 'Hooks' })
  const { hooks } = current().world.api({ apiKey })
  expect(await refusal(hooks.getBeforeSend())).toEqual(notFound)
  expect(await refusal(hooks.deleteBeforeSend())).toEqual(notFound)
  const url = 'https://shop.example.com/before-send'
  const { secret, ...set } = await hooks.setBeforeSend({ url, onError: 'deny' })
  expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{32}$/)
  expect(set).toMatchObject({ url, onError: 'deny', timeoutMs: 1_500 })
  expect(await hooks.getBeforeSend()).toEqual(set)
  const changed = await hooks.setBeforeSend({ url: `${url}2`, onError: 'allow', timeoutMs: 100 })
  expect(changed).toEqual({ ...set, url: `${url}2`, onError: 'allow', timeoutMs: 100, secret })
  expect(await hooks.deleteBeforeSend()).toEqual({ success: true })
  expect(await refusal(hooks.getBeforeSend())).toEqual(notFound)
  const again = await hooks.setBeforeSend({ url, onError: 'deny' })
  expect([appId, again.secret]).not.toContain(secret)
})

test('a hook with an unusable URL, timeout or onError is refused', async () => {
  const { backend } = await newScene()
  const url = 'https://shop.example.com/'
  const { hooks } = backend
  const before = await hooks.getBeforeSend()
  for (const args of [
    { url: 'http://127.0.0.1/', onError: 'deny' },
    { url: 'https://user:word@shop.example.com/', onError: 'deny' },
    { url: 'ftp://shop.example.com/', onError: 'deny' },
    { url, onError: 'deny', timeoutMs: 2_001 },
    { url, onError: 'deny', timeoutMs: 99 },
    { url, onError: 'ask' },
    { url },
    { onError: 'allow' },
  ] as Parameters<typeof hooks.setBeforeSend>[0][])
    expect(await refusal(hooks.setBeforeSend(args))).toEqual(invalid)
  expect(await hooks.getBeforeSend()).toEqual(before)
})

test('a deleted hook is asked no more', async () => {
  const { backend, asked, send, stored } = await newScene()
  current().receiver.answerWith(deciding({ action: 'refuse', reason: 'No' }))
  await backend.hooks.deleteBeforeSend()
  // Sent with a token that was used while the hook was there.
  await send('Hello')
  expect(await stored()).toEqual([[1, 'Hello']])
  expect(asked()).toEqual([])
})

test('an edit is screened as the message after it, and stored as the hook changes it', async () => {
  const { ana, ben, send, asked, channelId } = await newScene()
  const { receiver } = current()
  receiver.answerWith(allow)
  const root = await send('Root')
  const attachments = [{ type: 'image', url: 'https://example.com/b.png' }]
  const refs = { parentId: root.id, quotedMessageId: root.id }
  const draft = { attachments, ...refs, custom: { n: 1 }, silent: true }
  const { id: messageId } = await send('Hello', draft)
  const ref = { channelId, messageId }
  expect(asked().map(({ data }) => data.messageId)).toEqual([undefined, undefined])
  const changed = { action: 'change', text: 'Masked @ben', custom: { seen: true }, attachments: [] }
  receiver.answerWith(deciding(changed))
  const edited = await ana.messages.edit({ ...ref, text: '4111', custom: { m: 2 } })
  expect(asked().at(-1)).toMatchObject({
    type: 'message.before_send',
    data: { userId: 'ana', text: '4111', ...ref, ...draft, custom: { n: 1, m: 2 } },
  })
  const stored = { text: 'Masked @ben', mentions: ['ben'], custom: { seen: true }, attachments }
  expect(edited).toMatchObject(stored)
  expect(edited.custom).toEqual(stored.custom)
  expect(await ben.messages.get(ref)).toMatchObject(stored)
  const count = asked().length
  expect(await ana.messages.edit({ ...ref, text: 'Masked @ben' })).toEqual(edited)
  expect(asked()).toHaveLength(count)
  receiver.answerWith(deciding({ action: 'change', text: 'Again' }))
  expect(await ana.messages.edit({ ...ref, custom: { m: 3 } })).toMatchObject({
    ...{ text: 'Again', custom: { seen: true, m: 3 } },
  })
})

test('a refused edit changes nothing, and only what its author may edit is screened', async () => {
  const { ana, ben, userOf, apiKey, send, asked, stored, channelId } = await newScene()
  const { receiver, world } = current()
  receiver.answerWith(allow)
  const ref = { channelId, messageId: (await send('Harmless')).id }
  receiver.answerWith(deciding({ action: 'refuse', reason: 'No links, please' }))
  const link = { ...ref, text: 'https://spam.example.com' }
  const refused = ana.messages.edit(link)
  expect([await refusal(refused), await complaint(refused)]).toEqual([
    forbidden,
    'No links, please',
  ])
  expect(await refusal(ana.messages.edit({ ...ref, custom: { hidden: 'link' } }))).toEqual(
    forbidden,
  )
  // The attachments of an answer are none of the message's.
  const attachments = [{ type: 'image', url: 'https://example.com/b.png' }]
  receiver.answerWith(deciding({ action: 'change', text: '', attachments }))
  expect(await complaint(ana.messages.edit(link))).toBe('The message could not be checked')
  expect(asked()).toHaveLength(4)
  const olga = await userOf('olga')
  for (const [user, error] of [
    [ben, forbidden],
    [olga, forbidden],
  ] as const)
    expect(await refusal(user.messages.edit(link))).toEqual(error)
  expect(await refusal(ana.messages.edit({ ...ref, text: '' }))).toEqual(invalid)
  const missing = { ...link, messageId: crypto.randomUUID() }
  expect(await refusal(ana.messages.edit(missing))).toEqual(notFound)
  expect(await stored()).toEqual([[1, 'Harmless']])
  await world.api({ apiKey, userId: 'ana' }).messages.edit({ ...ref, text: 'By the backend' })
  expect(await stored()).toEqual([[1, 'By the backend']])
  expect(asked()).toHaveLength(4)
})

test('of two concurrent edits of text and metadata, one is stored and one refused', async () => {
  const { ana, send, asked, channelId } = await newScene()
  const { receiver } = current()
  receiver.answerWith(allow)
  const ref = { channelId, messageId: (await send('Old')).id }
  const held: (() => void)[] = []
  receiver.answerWith((response) => held.push(() => allow(response)))
  const edits = [{ text: 'New' }, { custom: { n: 1 } }].map((change) =>
    ana.messages.edit({ ...ref, ...change }),
  )
  await until(() => held.length === 2)
  for (const release of held) release()
  const outcomes = await Promise.allSettled(edits)
  const edited = outcomes.flatMap((each) => (each.status === 'fulfilled' ? each.value : []))
  const refused = outcomes.flatMap((each) => (each.status === 'rejected' ? each.reason : []))
  expect(refused).toMatchObject([conflict])
  expect(await ana.messages.get(ref)).toEqual(edited[0])
  const saw = asked().map(({ data: { text, custom } }) => ({ text, custom }))
  expect(saw).toContainEqual({ text: edited[0]?.text, custom: edited[0]?.custom ?? undefined })
})

test('an edit that the hook changes may be repeated, also while it is screened', async () => {
  const { ana, send, channelId } = await newScene()
  const { receiver } = current()
  receiver.answerWith(allow)
  const ref = { channelId, messageId: (await send('Old', { custom: { n: 1 } })).id }
  const change = deciding({ action: 'change', text: 'Masked', custom: { seen: true } })
  const held: (() => void)[] = []
  receiver.answerWith((response) => held.push(() => change(response)))
  const edit = () => ana.messages.edit({ ...ref, text: '4111', custom: { m: 2 }, ifEditedAt: null })
  const attempts = [edit(), edit()]
  await until(() => held.length === 2)
  for (const release of held) release()
  const [first, second] = await Promise.all(attempts)
  expect(first).toMatchObject({ text: 'Masked', custom: { seen: true } })
  receiver.answerWith(change)
  const later = await edit()
  expect([second, later]).toEqual([first, first])
})

test('an edit that changes nothing does not undo a concurrent edit', async () => {
  const { ana, send, channelId } = await newScene()
  const { receiver, world } = current()
  receiver.answerWith(allow)
  const ref = { channelId, messageId: (await send('Old')).id }
  const { late } = await whileRowLocked(
    world,
    (sql) => sql`select from channels where id = ${channelId} for update`,
    async (sql) => {
      const late = refusal(ana.messages.edit({ ...ref, text: 'Old' }))
      await waitingForRows(world, 1)
      await sql`update messages set text = 'New' where id = ${ref.messageId}`
      return { late }
    },
  )
  expect(await late).toEqual(conflict)
  expect(await ana.messages.get(ref)).toMatchObject({ text: 'New' })
})

test('an edit of metadata does not end a stream if its hook repeats the empty text', async () => {
  const { ana, apiKey, channelId } = await newScene()
  const { receiver, world } = current()
  const asAna = world.api({ apiKey, userId: 'ana' })
  const { id: messageId } = await asAna.messages.send({ channelId, text: '', streaming: true })
  const ref = { channelId, messageId }
  const repeating = deciding({ action: 'change', text: '', attachments: [] })
  for (const [n, answer] of [repeating, allow].entries()) {
    receiver.answerWith(answer)
    const edited = await ana.messages.edit({ ...ref, custom: { n } })
    expect(edited).toMatchObject({ text: '', streaming: true, custom: { n } })
  }
})

test('a hook that fails is logged once until it works, and each outcome is counted', async () => {
  const { receiver } = current()
  const { askFor, lines, countOf } = newAskerOf(receiver)
  receiver.answerWith(answering(500))
  for (let n = 0; n < 3; n++) await askFor('app-1')
  await askFor('app-2', 'allow')
  receiver.answerWith(allow)
  await askFor('app-1')
  receiver.answerWith(answering(404))
  await askFor('app-1')
  const line = (app: string, error: string) => ({
    app,
    error,
    message: 'before-send hook failing',
  })
  expect(lines).toEqual([
    line('app-1', 'answered 500'),
    line('app-2', 'answered 500'),
    line('app-1', 'answered 404'),
  ])
  expect([await countOf('error'), await countOf('allow')]).toEqual([5, 1])
})
