import { createApi } from '@parley/client/api'
import { connectOnce } from '@parley/server/db/client'
import { expect, onTestFinished, test, vi } from 'vitest'
import {
  expectAccessible,
  expectHidden,
  expectVisible,
  resize,
  screenshot,
} from '../support/browser.ts'
import { useConsole } from '../support/console.ts'
import { ADMIN_KEY } from '../support/secrets.ts'
import { patient } from '../support/until.ts'

const { button, createApp, link, openConsole, rowOf, serverUrl, ...playground } = useConsole()
const wide = { width: 1280, height: 860 }
const phone = { width: 390, height: 844 }

test('a wrong key is refused in words, and the right one opens the apps', async () => {
  const page = await playground.open('../console/', { viewport: wide })
  await page.getByLabel('Admin key').fill('not-the-admin-key')
  await button(page, 'Sign in').click()
  await expectVisible(page.getByRole('alert').getByText('This is not the admin key.'))
  await screenshot(page, 'console-sign-in')
  await page.getByLabel('Admin key').fill(ADMIN_KEY)
  await page.keyboard.press('Enter')
  await expectVisible(link(page, 'Demo'))
  expect(playground.problems.splice(0).every((problem) => problem.includes('401'))).toBe(true)
})

test('the session survives a reload and ends when the operator signs out', async () => {
  const page = await openConsole()
  await page.reload()
  await expectVisible(link(page, 'Demo'))
  await button(page, 'Sign out').click()
  await expectVisible(page.getByLabel('Admin key'))
  await page.reload()
  await expectVisible(page.getByLabel('Admin key'))
  expect(playground.problems.splice(0).every((problem) => problem.includes('401'))).toBe(true)
})

test('an operator whose session could not be ended sees that, and stays signed in', async () => {
  const page = await openConsole()
  await page.route('**/console/session', (route) => route.abort('connectionrefused'))
  await button(page, 'Sign out').click()
  await expectVisible(page.getByText('That needs the network'))
  expect(await page.getByLabel('Admin key').count()).toBe(0)
  const problems = playground.problems.splice(0)
  expect(problems.every((problem) => problem.includes('ERR_CONNECTION_REFUSED'))).toBe(true)
})

test('an app and a key are made, the key works, and it is revoked', async () => {
  const page = await openConsole()
  await button(page, 'New app').click()
  await page.getByLabel('Name').fill('Acme Talk')
  await button(page, 'Create app').click()
  await expectVisible(page.getByRole('dialog').getByText('Acme Talk is ready'))
  await button(page, 'Done').click()
  await expectVisible(page.getByRole('heading', { name: 'Acme Talk' }))
  await link(page, 'API keys').click()
  await button(page, 'New key').click()
  await page.getByLabel('Name').fill('Billing')
  await page.getByRole('radio', { name: /Mint/ }).check()
  await button(page, 'Create key').click()
  const apiKey = (await page.getByRole('dialog').locator('code').textContent()) ?? ''
  const backend = createApi({ url: serverUrl(), apiKey })
  expect((await backend.tokens.create({ userId: 'ana' })).user.id).toBe('ana')
  await button(page, 'Done').click()
  await expectVisible(rowOf(page, /Billing.*Mint/))
  await resize(page, phone)
  const keyIds = await page.locator('td .id:visible').all()
  expect(keyIds).toHaveLength(2)
  for (const id of keyIds) expect((await id.boundingBox())?.height).toBeLessThan(24)
  await resize(page, wide)
  await rowOf(page, 'Billing').getByRole('button', { name: 'Revoke' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click()
  await expectHidden(rowOf(page, 'Billing'))
  await expect(backend.tokens.create({ userId: 'ana' })).rejects.toMatchObject({ status: 401 })
})

test('the operator finds a user, their channels and a message, and what was audited', async () => {
  const app = await createApp('Kitchen')
  const page = await openConsole(`#/apps/${app.id}`)
  await expectVisible(page.getByText('Active users a day'))
  await link(page, 'Users').click()
  await page.getByRole('searchbox', { name: 'Search users' }).fill('oka')
  await expectHidden(rowOf(page, 'Ana Sousa'))
  await rowOf(page, 'Ben Okafor').getByRole('link', { name: 'Channels' }).click()
  await link(page, 'Show all').click()
  await page.getByRole('searchbox', { name: 'Search channels' }).fill('team')
  await expectHidden(link(page, 'Soup of the day'))
  await expectVisible(link(page, 'Kitchen team'))
  await page.getByRole('searchbox', { name: 'Search channels' }).fill('soup')
  await link(page, 'Soup of the day').click()
  const messages = page.getByRole('list', { name: 'Messages' })
  await expectVisible(messages.getByText('With ginger'))
  await page.getByRole('searchbox', { name: 'Author' }).fill('ben')
  await expectHidden(messages.getByText('With ginger'))
  await page.getByRole('searchbox', { name: 'Author' }).fill('ana')
  await expectVisible(messages.getByText('With ginger'))
  const picture = messages.getByRole('listitem').filter({ hasText: 'https://example.com/soup.jpg' })
  await expectVisible(picture.getByText('Silent', { exact: true }))
  await expectVisible(page.getByText('Sent before'))
  await screenshot(page, 'console-messages')
  await page.getByLabel('Sent before').fill('2026-01-01T14:04:00')
  await expectVisible(page.getByText('No messages here.'))
  await page.getByLabel('Sent before').fill('')
  await expectVisible(messages.getByText('With ginger'))
  await page.getByRole('searchbox', { name: 'Search messages' }).fill('PUMP')
  await expectHidden(messages.getByText('With ginger'))
  await expectVisible(messages.getByText('Pumpkin today'))
  await link(page, 'Users').click()
  await page.getByRole('searchbox', { name: 'Search users' }).fill('cook-7')
  await expectVisible(rowOf(page, 'Dana Reyes'))
  await link(page, 'Audit log').last().click()
  await expectVisible(rowOf(page, /Operator.*apps.create/))
  await page.getByRole('searchbox', { name: 'Acting user' }).fill('ana')
  await expectVisible(page.getByText('Nothing has been noted.'))
})

test('the operator sees why a delivery failed, and what was audited in all apps', async () => {
  const app = await createApp('Hooked')
  const backend = createApi({ url: serverUrl(), apiKey: app.apiKey })
  const url = 'https://nowhere.invalid/hook'
  const { id: webhookId } = await backend.webhooks.create({ url, events: ['message.new'] })
  const { id: deliveryId } = await backend.webhooks.test({ webhookId })
  const error = await vi.waitFor(async () => {
    const { deliveries } = await backend.webhooks.deliveries({ webhookId })
    return (
      deliveries.find(({ id }) => id === deliveryId)?.error ?? Promise.reject(new Error('none'))
    )
  }, patient)
  const page = await openConsole(`#/apps/${app.id}/webhooks`)
  await expectVisible(rowOf(page, url).getByText('failing since'))
  await link(page, url).click()
  const delivery = rowOf(page, 'webhook.test')
  await expectVisible(delivery)
  await expectVisible(delivery.getByText(error))
  await screenshot(page, 'console-deliveries')
  await page.goto(`${serverUrl()}console/#/audit`)
  await expectVisible(rowOf(page, /Operator.*apps.create/).first())
  await resize(page, phone)
  // An id that is broken over lines cannot be compared with another one.
  const ids = page.locator('td .id:visible')
  await expect.poll(() => ids.count()).toBeGreaterThan(3)
  for (const id of await ids.all()) expect((await id.boundingBox())?.height).toBeLessThan(24)
  await expect
    .poll(() => page.evaluate(`document.querySelector('.table-frame').scrollWidth`))
    .toBe(362 - 2)
  await screenshot(page, 'console-phone-audit')
  await page.emulateMedia({ colorScheme: 'dark' })
  await screenshot(page, 'console-phone-audit-dark')
})

test('the page of an unknown id says that it does not exist, and links to the list', async () => {
  const app = await createApp('Known')
  const page = await openConsole()
  const id = '019c9b1e-7a52-7cc1-8f0e-3d2f5b6a7c81'
  const unknown = [
    [`apps/${id}`, 'app', 'All apps'],
    [`apps/${app.id}/channels/${id}`, 'channel', 'All channels'],
    [`apps/${app.id}/users/nobody`, 'user', 'All users'],
    [`apps/${app.id}/webhooks/${id}`, 'webhook', 'All webhooks'],
  ]
  for (const [address, what = '', list = ''] of unknown) {
    await page.goto(`${serverUrl()}console/#/${address}`)
    await expectVisible(page.getByRole('alert').getByText(`There is no ${what} with this id`))
    expect(await page.getByText('NOT_FOUND').count()).toBe(0)
    await link(page, list).click()
    await expectHidden(page.getByRole('alert'))
  }
  expect(playground.problems.splice(0).every((problem) => problem.includes('404'))).toBe(true)
})

test('a disabled app refuses its backend until it is enabled again', async () => {
  const app = await createApp('Pause')
  const backend = createApi({ url: serverUrl(), apiKey: app.apiKey })
  const page = await openConsole(`#/apps/${app.id}/settings`)
  await button(page, 'Disable').click()
  await page.getByRole('dialog').getByRole('button', { name: 'Disable' }).click()
  await expectVisible(page.getByText('Disabled', { exact: true }))
  await expect(backend.tokens.create({ userId: 'ana' })).rejects.toMatchObject({
    code: 'APP_DISABLED',
  })
  await button(page, 'Enable').click()
  await expectVisible(button(page, 'Disable'))
  expect((await backend.tokens.create({ userId: 'ana' })).user.id).toBe('ana')
  // The session has ended meanwhile.
  await page.context().clearCookies()
  await button(page, 'Save').click()
  await expectVisible(page.getByLabel('Admin key'))
  expect(playground.problems.splice(0).every((problem) => problem.includes('401'))).toBe(true)
})

test('failed jobs are shown page by page, none left out when one is retried', async () => {
  const { id } = await createApp('Jobs')
  const db = connectOnce(playground.databaseUrl())
  onTestFinished(() => db.end())
  const payload = { jobs: [{ appId: id }], since: new Date().toISOString(), tries: 0 }
  await db`
    with added as (
      select (graphile_worker.add_job('gone', ${db.json(payload)}::json)).id
      from generate_series(1, 52)
    )
    select graphile_worker.permanently_fail_jobs(array_agg(added.id), 'a bug')
    from added`
  const page = await openConsole(`#/apps/${id}/jobs`)
  await expectVisible(rowOf(page, 'a bug').first())
  await button(page, 'Retry').first().click()
  await expectVisible(page.getByText('Queued'))
  await button(page, 'Show more').click()
  // While it loads, the button has another name.
  await expect.poll(() => rowOf(page, 'a bug').count()).toBe(52)
  await expectHidden(button(page, 'Show more'))
})

const isInView = (elements: Element[]) =>
  elements.every((element) => element.getBoundingClientRect().right <= innerWidth)

test.each(['light', 'dark'] as const)(
  'the %s console is accessible, wide and on a phone',
  async (colorScheme) => {
    const app = await createApp(`Colours ${colorScheme}`)
    const page = await openConsole('', { colorScheme })
    await expectVisible(link(page, 'Demo'))
    const sections = ['keys', 'users', 'channels', 'webhooks', 'jobs', 'audit', 'settings']
    const ofApp = ['', ...sections, `channels/${app.channelId}`].map((path) => [
      path.replace(app.channelId, 'messages').replace('/', '-') || 'overview',
      `#/apps/${app.id}/${path}`,
    ])
    for (const [name, hash = ''] of [['apps', '#/'], ...ofApp]) {
      await page.goto(new URL(hash, page.url()).href)
      await page.waitForFunction(() => document.querySelector('.skeletons') === null)
      for (const [size, viewport] of Object.entries({ wide, phone })) {
        await resize(page, viewport)
        await screenshot(page, `console-${name}-${size}-${colorScheme}`)
        const overflow = await page.evaluate(() => {
          const { scrollWidth, clientWidth } = document.documentElement
          return scrollWidth - clientWidth
        })
        expect(overflow, `${name}, ${size}`).toBeLessThanOrEqual(0)
        await expect
          .poll(() => page.locator('.tabs [aria-current]').evaluateAll(isInView))
          .toBe(true)
      }
      await expectAccessible(page)
    }
  },
)
