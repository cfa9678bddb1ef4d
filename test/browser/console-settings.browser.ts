import { createApi } from '@parley/client/api'
import { expect, test } from 'vitest'
import {
  expectAccessible,
  expectHidden,
  expectVisible,
  resize,
  screenshot,
  tabTo,
} from '../support/browser.ts'
import { useConsole } from '../support/console.ts'
import { ADMIN_KEY } from '../support/secrets.ts'

const { button, createApp, open, openConsole, operator, problems, rowOf, serverUrl } = useConsole()
const settingsOf = async ({ id: appId }: { id: string }) =>
  (await operator().apps.get({ appId })).settings
const openSettings = ({ id }: { id: string }) => openConsole(`#/apps/${id}/settings`)

test('a save sets what was changed, and nothing that another operator set meanwhile', async () => {
  const app = await createApp('Two operators')
  await operator().apps.update({ appId: app.id, settings: { messageRetentionDays: 30 } })
  const page = await openSettings(app)
  await expectVisible(page.getByLabel('Keep messages for days'))
  // All messages are to be kept from now on, for a court say.
  const settings = { messageRetentionDays: null, rateLimits: { messages: 7 } }
  await operator().apps.update({ appId: app.id, settings })
  await page.getByLabel('Tokens of a key').fill('9')
  await button(page, 'Save').click()
  await expectVisible(page.getByText('Saved', { exact: true }))
  const both = { messageRetentionDays: null, rateLimits: { messages: 7, tokens: 9 } }
  expect(await settingsOf(app)).toMatchObject(both)
  await expect.poll(() => page.getByLabel('Messages of a user').inputValue()).toBe('7')
  await page.getByLabel('Tokens of a key').fill('10')
  await button(page, 'Save').click()
  await expect
    .poll(() => settingsOf(app))
    .toMatchObject({
      messageRetentionDays: null,
      rateLimits: { messages: 7, tokens: 10 },
    })
})

test('settings are saved, and an app is deleted once its name is typed', async () => {
  const app = await createApp('Short life')
  const page = await openSettings(app)
  await page.getByLabel('Keep messages for days').fill('365')
  const topOf = async (text: string) => (await page.getByText(text).boundingBox())?.y ?? 0
  const [legend, first] = [await topOf('Limits a minute'), await topOf('Tokens of a key')]
  expect(first - legend).toBeGreaterThan(25)
  await page.getByLabel('Messages of a user').fill('120')
  await button(page, 'Save').click()
  // A shorter retention deletes messages for good, so it needs a confirmation.
  const dialog = page.getByRole('dialog')
  await expectVisible(dialog.getByText('Delete messages older than 365 days?'))
  await dialog.getByRole('button', { name: 'Cancel' }).click()
  expect(await settingsOf(app)).toMatchObject({ messageRetentionDays: null })
  await button(page, 'Save').click()
  await dialog.getByRole('button', { name: 'Delete and save' }).click()
  await expectVisible(page.getByText('Saved', { exact: true }))
  expect(await settingsOf(app)).toMatchObject({
    messageRetentionDays: 365,
    rateLimits: { messages: 120 },
  })
  await button(page, 'Delete').click()
  const confirm = dialog.getByRole('button', { name: 'Delete for good' })
  await expect.poll(() => confirm.isDisabled()).toBe(true)
  await dialog.getByLabel('Name of the app').fill('Short life')
  await confirm.click()
  await expectVisible(page.getByRole('heading', { name: 'Apps' }))
  await expectHidden(page.getByRole('link', { name: 'Short life' }))
})

test('the operator reads which setting was refused, and why', async () => {
  const app = await createApp('Refused')
  const page = await openSettings(app)
  await page.getByLabel('Messages of a user').fill('123456789123')
  await button(page, 'Save').click()
  const refusal = page.getByRole('alert')
  await expectVisible(refusal.getByText('settings.rateLimits.messages'))
  await screenshot(page, 'console-settings-refused')
  await page.getByLabel('Messages of a user').fill('7')
  await button(page, 'Save').click()
  await expectVisible(page.getByText('Saved', { exact: true }))
  await expectHidden(refusal)
  expect(problems.splice(0).every((problem) => problem.includes('400'))).toBe(true)
})

test('closing a dialog in any way returns the focus to what opened it', async () => {
  const page = await openConsole()
  const focused = () =>
    page.evaluate(() => document.activeElement?.textContent ?? document.activeElement?.tagName)
  for (const close of ['Escape', 'Cancel', 'Close']) {
    await button(page, 'New app').focus()
    await page.keyboard.press('Enter')
    await expectVisible(page.getByRole('dialog').getByLabel('Name'))
    if (close === 'Escape') await page.keyboard.press('Escape')
    else await page.getByRole('dialog').getByRole('button', { name: close }).press('Enter')
    await expectHidden(page.getByRole('dialog'))
    await expect.poll(async () => [close, await focused()]).toEqual([close, 'New app'])
  }
})

test('the keyboard alone suffices to sign in, and to make an app and change its name', async () => {
  const page = await open('../console/')
  const { keyboard } = page
  const typeInto = async (field: string, text: string) => {
    await tabTo(page, page.getByLabel(field))
    await keyboard.press('ControlOrMeta+a')
    await keyboard.type(text)
    await keyboard.press('Enter')
  }
  await expectVisible(page.getByLabel('Admin key'))
  await typeInto('Admin key', ADMIN_KEY)
  await expectVisible(button(page, 'New app'))
  await tabTo(page, button(page, 'New app'))
  await keyboard.press('Enter')
  await typeInto('Name', 'By keys')
  await expectVisible(page.getByRole('dialog').getByText('By keys is ready'))
  await tabTo(page, button(page, 'Done'))
  await keyboard.press('Enter')
  await tabTo(page, page.getByRole('link', { name: 'Settings' }))
  await keyboard.press('Enter')
  await typeInto('Name', 'By keys alone')
  await expectVisible(page.getByRole('heading', { name: 'By keys alone' }))
  expect(problems.splice(0).every((problem) => problem.includes('401'))).toBe(true)
})

test('the operator sees what a user is notified of', async () => {
  const app = await createApp('Quiet user')
  const backend = createApi({ url: serverUrl(), apiKey: app.apiKey })
  const { token } = await backend.tokens.create({ userId: 'ben' })
  const ben = createApi({ url: serverUrl(), token })
  await ben.preferences.update({ mentions: false, quietHoursEnabled: true })
  await ben.channels.updateSettings({ channelId: app.channelId, muted: true })
  const page = await openConsole(`#/apps/${app.id}/users`)
  await rowOf(page, 'Ben').getByRole('link', { name: 'Notifications' }).click()
  await expectVisible(rowOf(page, /Mentions.*Off/))
  await expectVisible(rowOf(page, /Quiet hours.*On.*22:00 to 08:00, UTC/))
  await expectVisible(page.getByText('No devices: nothing is pushed to this user.'))
  await screenshot(page, 'console-notifications')
  await ben.devices.create({ platform: 'ios', provider: 'apns', token: 'phone' })
  await button(page, 'Refresh').click()
  await expectVisible(rowOf(page, /ios.*apns/))
  await expectAccessible(page)
  await resize(page, { width: 390, height: 844 })
  await screenshot(page, 'console-notifications-phone')
  await page.getByRole('link', { name: 'Their channels' }).click()
  await expectVisible(rowOf(page, /Soup of the day.*Muted/))
})

test('a number that the browser refuses is scrolled into view, with its label', async () => {
  const app = await createApp('Below the bar')
  const page = await openConsole(`#/apps/${app.id}/settings`, {
    viewport: { width: 1280, height: 500 },
  })
  await page.getByLabel('Keep messages for days').fill('-3')
  await button(page, 'Save').click()
  const name = page.getByText('Keep messages for days')
  const bar = await page.getByRole('banner').boundingBox()
  await expect
    .poll(async () => (await name.boundingBox())?.y)
    .toBeGreaterThan((bar?.y ?? 0) + (bar?.height ?? 0))
  expect(await page.evaluate('scrollY')).toBeGreaterThan(0)
  await screenshot(page, 'console-settings-below-the-bar')
})

test('a key is named before it is revoked, also one without a name', async () => {
  const app = await createApp('Two keys')
  await operator().apps.createKey({ appId: app.id, name: 'Reports' })
  const { id: unnamedId } = await operator().apps.createKey({ appId: app.id })
  const page = await openConsole(`#/apps/${app.id}/keys`)
  const dialog = page.getByRole('dialog')
  for (const [row, called] of [
    ['Reports', '“Reports”'],
    [unnamedId, `the key …${unnamedId.slice(-12)}`],
  ] as const)
    for (const [action, title] of [
      ['Revoke', `Revoke ${called}?`],
      ['Edit', `Edit ${called}`],
    ] as const) {
      await rowOf(page, row).getByRole('button', { name: action }).click()
      await expectVisible(dialog.getByRole('heading', { name: title, exact: true }))
      await screenshot(page, `console-key-${action}-${row === 'Reports' ? 'named' : 'unnamed'}`)
      await button(page, 'Cancel').click()
    }
})

test('the sign-in says where the key is, and refuses a wrong one in words alone', async () => {
  const page = await open('../console/')
  await expectVisible(page.getByText('.data/secrets.json'))
  await page.getByLabel('Admin key').fill('not-the-admin-key')
  await button(page, 'Sign in').click()
  await expect.poll(() => page.getByRole('alert').innerText()).toBe('This is not the admin key.')
  await screenshot(page, 'console-sign-in-refused')
  expect(problems.splice(0).every((problem) => problem.includes('401'))).toBe(true)
})

test('the overview of an app without users says that none were active', async () => {
  const { id } = await operator().apps.create({ name: 'Brand new' })
  const page = await openConsole(`#/apps/${id}`)
  await expectVisible(page.getByText('none in the last 30 days'))
  expect(await page.getByText('at most').count()).toBe(0)
  await screenshot(page, 'console-overview-new')
})
