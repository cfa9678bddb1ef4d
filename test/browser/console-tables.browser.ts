import { createChatClient } from '@parley/client'
import { createApi } from '@parley/client/api'
import type { Locator } from 'playwright-core'
import { expect, onTestFinished, test } from 'vitest'
import { expectHidden, expectVisible, screenshot } from '../support/browser.ts'
import { useConsole } from '../support/console.ts'
import { until } from '../support/until.ts'

const { createApp, failPush, openConsole, operator, rowOf, serverUrl } = useConsole()
const phone = { width: 390, height: 844 }

/** An app whose webhook has had deliveries of two messages at the same moment. */
async function createHooked() {
  const app = await createApp('Two at once')
  const backend = createApi({ url: serverUrl(), apiKey: app.apiKey })
  const url = 'https://nowhere.invalid/hook'
  const { id: webhookId } = await backend.webhooks.create({ url, events: ['message.new'] })
  const { token } = await backend.tokens.create({ userId: 'ana' })
  const ana = createApi({ url: serverUrl(), token })
  const messages = ['One', 'Two'].map((text) => ({ clientId: crypto.randomUUID(), text }))
  await ana.messages.sendBatch({ channelId: app.channelId, messages })
  const deliveries = () => operator().inspect.deliveries({ appId: app.id, webhookId })
  await until(async () => (await deliveries()).deliveries.length === 2)
  return { address: `#/apps/${app.id}/webhooks/${webhookId}` }
}

const heightOf = async (locator: Locator) => (await locator.boundingBox())?.height

test('deliveries of the same moment differ in the shown part of their webhook-id', async () => {
  const { address } = await createHooked()
  const page = await openConsole(address)
  await expectVisible(rowOf(page, 'message.new'))
  const shown = await page.locator('[data-title="webhook-id"]').allTextContents()
  expect(new Set(shown).size).toBe(2)
  await screenshot(page, 'console-webhook-ids')
})

test('on a phone the deliveries of a webhook do not scroll sideways', async () => {
  const { address } = await createHooked()
  const page = await openConsole(address, { viewport: phone })
  await expectVisible(rowOf(page, 'message.new'))
  await expect
    .poll(() => page.evaluate(() => document.documentElement.scrollWidth))
    .toBe(phone.width)
})

test('on a phone the id of a user is on one line', async () => {
  const app = await createApp('Long ids')
  const backend = createApi({ url: serverUrl(), apiKey: app.apiKey })
  const userId = crypto.randomUUID()
  await backend.tokens.create({ userId, name: 'Eve' })
  const page = await openConsole(`#/apps/${app.id}/users`, { viewport: phone })
  await expect.poll(() => heightOf(page.getByText(userId))).toBeLessThan(24)
  await screenshot(page, 'console-users-phone')
})

test('a user who is connected is marked as online', async () => {
  const app = await createApp('Connected')
  const backend = createApi({ url: serverUrl(), apiKey: app.apiKey })
  const token = () => backend.tokens.create({ userId: 'ben' })
  const chat = createChatClient({ url: serverUrl(), token })
  onTestFinished(() => chat.disconnect())
  await chat.connect()
  const page = await openConsole(`#/apps/${app.id}/users`)
  await expectVisible(rowOf(page, /Ben Okafor.*Online/))
  await expectHidden(rowOf(page, /Ana Sousa.*Online/))
  await screenshot(page, 'console-users-online')
})

test('a channel without messages has no last message', async () => {
  const app = await createApp('Quiet')
  const page = await openConsole(`#/apps/${app.id}/channels`)
  const lastOf = (name: string) => rowOf(page, name).locator('[data-title="Last message"]')
  await expect.poll(() => lastOf('Kitchen team').textContent()).toBe('–')
  await expect.poll(() => lastOf('Soup of the day').textContent()).toMatch(/ago|now/)
})

test('the message of a failed job is named on one line', async () => {
  const app = await createApp('Long reason')
  const messageId = await failPush(app, 'refused '.repeat(30))
  const page = await openConsole(`#/apps/${app.id}/jobs`)
  await expect.poll(() => heightOf(page.getByText(messageId))).toBeLessThan(24)
})
