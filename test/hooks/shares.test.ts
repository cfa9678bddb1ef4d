import { limits } from '@parley/contract'
import { expect, test } from 'vitest'
import { forbidden, refusal } from '../support/refusal.ts'
import { until } from '../support/until.ts'
import { newAskerOf } from './asker.ts'
import { deciding, useHooks } from './fixture.ts'

const { current, newScene } = useHooks()
const { atOnce, atOnceOfUser } = limits.beforeSend
const busy = { status: 503, code: 'UNAVAILABLE', retryAfterMs: 1_000 }
const allow = deciding({ action: 'allow' })

/** The questions of as many users as fill the places of an app. */
const fill = (askFor: ReturnType<typeof newAskerOf>['askFor'], app: string) =>
  Array.from({ length: atOnce }, (_, n) => askFor(app, 'deny', userAt(n)))
const userAt = (n: number) => `user-${Math.floor(n / atOnceOfUser)}`

/** Holds back the answers of the hook until they are released, each with the same one. */
function holdAnswers() {
  const held: ((answer: ReturnType<typeof deciding>) => void)[] = []
  current().receiver.answerWith((response) => held.push((answer) => answer(response)))
  const release = (answer: ReturnType<typeof deciding>) => {
    for (const each of held.splice(0)) each(answer)
  }
  return { held, release }
}

test('a flood of edits neither bypasses the hook nor takes the places of others', async () => {
  const { ana, ben, channelId, send, stored } = await newScene({ onError: 'allow' })
  current().receiver.answerWith(allow)
  const ref = { channelId, messageId: (await send('Harmless')).id }
  const { held, release } = holdAnswers()
  const early: unknown[] = []
  const edits = Array.from({ length: atOnce + 1 }, (_, n) => {
    const edit = ana.messages.edit({ ...ref, text: `Forbidden ${n}` })
    edit.then(
      (message) => early.push(message),
      (error) => early.push(error),
    )
    return edit
  })
  await until(() => held.length + early.length === edits.length)
  expect(early).toMatchObject(Array(edits.length - atOnceOfUser).fill(busy))
  expect(await stored()).toEqual([[1, 'Harmless']])
  const sent = ben.messages.send({ channelId, text: 'Hello' })
  await until(() => held.length === atOnceOfUser + 1)
  held.pop()?.(allow)
  expect(await sent).toMatchObject({ userId: 'ben', text: 'Hello' })
  release(deciding({ action: 'refuse', reason: 'No' }))
  const outcomes = await Promise.allSettled(edits)
  const refused = outcomes.flatMap((each) => (each.status === 'rejected' ? each.reason : []))
  expect(refused.filter(({ status }) => status === forbidden.status)).toHaveLength(atOnceOfUser)
  expect((await stored()).map(([, text]) => text)).toEqual(['Harmless', 'Hello'])
  current().receiver.answerWith(deciding({ action: 'refuse', reason: 'No' }))
  expect(await refusal(ana.messages.edit({ ...ref, text: 'Forbidden' }))).toEqual(forbidden)
})

test('all drafts of a batch have room to be screened at the same time', async () => {
  const { ana, channelId, stored } = await newScene()
  current().receiver.answerWith(allow)
  const texts = Array.from({ length: limits.messageBatch.messages }, (_, n) => `m${n}`)
  const messages = texts.map((text) => ({ text, clientId: text }))
  const { results } = await ana.messages.sendBatch({ channelId, messages })
  expect(results.flatMap(({ message }) => message?.text ?? [])).toEqual(texts)
  expect(await stored()).toHaveLength(texts.length)
})

test('the messages that wait for a hook are limited per app, and delay no other app', async () => {
  const { receiver } = current()
  const { askFor, lines, countOf, refused } = newAskerOf(receiver)
  const { held, release } = holdAnswers()
  const waiting = fill(askFor, 'busy')
  await until(() => held.length === atOnce)
  for (const onError of ['deny', 'allow'] as const)
    await expect(askFor('busy', onError)).rejects.toMatchObject({
      ...{ code: 'UNAVAILABLE', retryAfterSeconds: 1 },
    })
  // They are no failures of the hook.
  expect([lines, await countOf('error')]).toEqual([[], 0])
  expect(await refused()).toMatchObject([{ labels: { reason: 'hook' }, value: 2 }])
  const other = askFor('quiet')
  await until(() => held.length === atOnce + 1)
  release(allow)
  expect(await other).toEqual({ action: 'allow' })
  expect(new Set((await Promise.all(waiting)).map(({ action }) => action))).toEqual(
    new Set(['allow']),
  )
  receiver.answerWith(allow)
  expect(await askFor('busy')).toEqual({ action: 'allow' })
})

test('beyond the limit of an app `onError` decides while its hook fails', async () => {
  const { receiver } = current()
  const { askFor } = newAskerOf(receiver)
  receiver.answerWith((response) => response.writeHead(500).end())
  expect(await askFor('down', 'allow')).toEqual({ action: 'allow' })
  const { held, release } = holdAnswers()
  const waiting = fill(askFor, 'down')
  await until(() => held.length === atOnce)
  expect(await askFor('down', 'allow')).toEqual({ action: 'allow' })
  expect(await askFor('down', 'deny')).toMatchObject({ action: 'refuse' })
  await expect(askFor('down', 'allow', userAt(0))).rejects.toMatchObject({ code: 'UNAVAILABLE' })
  release(allow)
  await Promise.all(waiting)
})
