import { expect, test } from 'vitest'
import { notFound, refusals } from '../support/refusal.ts'
import { useSharedWorld } from '../support/world.ts'

const world = useSharedWorld()

test('each app has a before-send hook of its own, and deletes no other', async () => {
  const { operator, api } = world()
  const hooksOf = async (name: string) => {
    const { apiKey } = await operator.apps.create({ name })
    return api({ apiKey }).hooks
  }
  const [one, other] = [await hooksOf('One'), await hooksOf('Other')]
  const set = { onError: 'allow' as const, timeoutMs: 1_000 }
  await one.setBeforeSend({ ...set, url: 'https://8.8.8.8/one' })
  const { secret } = await other.setBeforeSend({ ...set, url: 'https://8.8.8.8/other' })
  expect((await one.getBeforeSend()).url).toBe('https://8.8.8.8/one')
  await one.deleteBeforeSend()
  const calls = [one.getBeforeSend(), one.deleteBeforeSend(), one.rotateBeforeSend()]
  expect(await refusals(calls)).toEqual([notFound, notFound, notFound])
  expect((await other.getBeforeSend()).url).toBe('https://8.8.8.8/other')
  expect((await other.rotateBeforeSend()).secret).not.toBe(secret)
})

test('users of an app without a hook stream messages, even if another app has one', async () => {
  const { operator, api } = world()
  const { apiKey } = await operator.apps.create({ name: 'Screened' })
  const url = 'https://8.8.8.8/screen'
  await api({ apiKey }).hooks.setBeforeSend({ url, onError: 'allow', timeoutMs: 1_000 })
  const ana = await world().user('streaming-ana')
  const { id: channelId } = await ana.channels.create({ type: 'group', name: 'Unscreened' })
  const { id: messageId } = await ana.messages.send({ channelId, text: '', streaming: true })
  const appended = await ana.streams.append({ channelId, messageId, text: 'Hello', at: 0 })
  expect(appended).toEqual({ length: 5 })
})
