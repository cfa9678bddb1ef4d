import { expect, test } from 'vitest'
import { complaint } from './support/refusal.ts'
import { useWorld } from './support/world.ts'

const world = useWorld()
const url = 'https://8.8.8.8/parley'

/** An app with a key, a webhook and a hook: the calls that change them, and what they are. */
async function newApp() {
  const { operator, api } = world()
  const { id: appId, apiKey, keyId } = await operator.apps.create({ name: 'Strict' })
  const backend = api({ apiKey })
  const { id: webhookId } = await backend.webhooks.create({ url, events: ['*'] })
  await backend.hooks.setBeforeSend({ url, onError: 'allow' })
  const ofApp = (given: object) => operator.apps.update({ appId, ...given })
  const calls = {
    app: ofApp,
    'setting of an app': (settings: object) => ofApp({ settings }),
    'limit of an app': (rateLimits: object) => ofApp({ settings: { rateLimits } }),
    'new key': (given: object) => operator.apps.createKey({ appId, ...given }),
    key: (given: object) => operator.apps.updateKey({ appId, keyId, ...given }),
    'new webhook': (given: object) =>
      backend.webhooks.create({ url, events: ['message.new'], ...given }),
    webhook: (given: object) => backend.webhooks.update({ webhookId, ...given }),
    'before-send hook': (given: object) =>
      backend.hooks.setBeforeSend({ url, onError: 'allow', ...given }),
  }
  const state = async () => [
    await operator.apps.get({ appId }),
    await backend.webhooks.list(),
    await backend.hooks.getBeforeSend(),
  ]
  return { calls, state }
}
type What = keyof Awaited<ReturnType<typeof newApp>>['calls']

test.each<[What, object, string]>([
  ['app', { name: 'Renamed', enable: false }, 'Unrecognized key: "enable"'],
  [
    'setting of an app',
    { messageRetentionDay: 30, userAdminAccess: 'server' },
    'settings: Unrecognized key: "messageRetentionDay"',
  ],
  ['limit of an app', { message: 2 }, 'settings.rateLimits: Unrecognized key: "message"'],
  ['new key', { scope: ['read'] }, 'Unrecognized key: "scope"'],
  ['key', { expires: '2030-01-01T00:00:00Z' }, 'Unrecognized key: "expires"'],
  ['new webhook', { descripton: 'Mails' }, 'Unrecognized key: "descripton"'],
  ['webhook', { disabled: true, url }, 'Unrecognized key: "disabled"'],
  ['before-send hook', { timeoutMS: 500 }, 'Unrecognized key: "timeoutMS"'],
])('a misspelt name for a %s is refused, and changes nothing', async (what, given, message) => {
  const { calls, state } = await newApp()
  const before = await state()
  expect(await complaint(calls[what](given))).toBe(message)
  // The use of a key is noted in between.
  expect(withoutUses(await state())).toEqual(withoutUses(before))
})

const withoutUses = (state: unknown) =>
  JSON.parse(JSON.stringify(state, (name, value) => (name === 'lastUsedAt' ? undefined : value)))
