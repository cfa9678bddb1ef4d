import { verifyBeforeSend, WebhookVerificationError } from '@parley/client/server'
import { expect, test } from 'vitest'
import { notFound, refusal } from '../support/refusal.ts'
import { deciding, useHooks } from './fixture.ts'

const { current, newScene } = useHooks()
const allow = deciding({ action: 'allow' })

/** Whether each question that a hook was asked is signed with the secret. */
const signedWith = (asked: Parameters<typeof verifyBeforeSend>[0][], secret: string) =>
  Promise.all(
    asked.map(async (question) => {
      const verdict = await verifyBeforeSend(question, secret).catch((error) => error)
      return !(verdict instanceof WebhookVerificationError)
    }),
  )

test('hook requests have both signatures for a day after a rotation, then one', async () => {
  const { appId, backend, secret, send, asked } = await newScene()
  const { receiver, world } = current()
  receiver.answerWith(allow)
  const before = await backend.hooks.getBeforeSend()
  const { secret: rotated, ...hook } = await backend.hooks.rotateBeforeSend()
  expect(hook).toEqual(before)
  expect(rotated).toMatch(/^whsec_[A-Za-z0-9+/]{32}$/)
  expect(rotated).not.toBe(secret)
  await send('Signed by both')
  const expire = (hours: number) => world.db`
    update before_send_hooks
    set previous_secret_expires_at = previous_secret_expires_at - ${hours} * interval '1 hour'
    where app_id = ${appId}`
  await expire(23)
  await send('Still signed by both')
  await expire(1)
  await send('Signed by one')
  expect(await signedWith(asked(), secret)).toEqual([true, true, false])
  expect(await signedWith(asked(), rotated)).toEqual([true, true, true])
})

test('a hook that is set during a rotation keeps both secrets, a deleted one none', async () => {
  const { backend, secret, waitLong, send, asked } = await newScene()
  const { receiver } = current()
  receiver.answerWith(allow)
  const rotated = await backend.hooks.rotateBeforeSend()
  const { url, onError } = rotated
  const set = async () => {
    const { secret } = await backend.hooks.setBeforeSend({ url, onError })
    await waitLong()
    return secret
  }
  expect(await set()).toBe(rotated.secret)
  await send('Set again')
  await backend.hooks.deleteBeforeSend()
  const newest = await set()
  await send('Made again')
  expect(await signedWith(asked(), secret)).toEqual([true, false])
  expect(await signedWith(asked(), rotated.secret)).toEqual([true, false])
  expect(await signedWith(asked(), newest)).toEqual([false, true])
})

test('a rotation is audited without its secret, and refused where no hook is set', async () => {
  const { operator, api } = current().world
  const { appId, apiKey, backend } = await newScene()
  const { id: otherId, apiKey: otherKey } = await operator.apps.create({ name: 'No hook' })
  expect(await refusal(api({ apiKey: otherKey }).hooks.rotateBeforeSend())).toEqual(notFound)
  const notes = async (id: string) =>
    (await operator.audit.listOfApp({ appId: id, operation: 'hooks.rotateBeforeSend' })).entries
  expect(await notes(appId)).toEqual([])
  const { hooks } = api({ apiKey })
  await hooks.rotateBeforeSend()
  expect(await notes(appId)).toMatchObject([{ actor: { type: 'key' }, target: {} }])
  expect(await notes(otherId)).toEqual([])
  expect(await backend.hooks.getBeforeSend()).not.toHaveProperty('secret')
})
