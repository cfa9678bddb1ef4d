import { createApi } from '@parley/client/api'
import { connectOnce } from '@parley/server/db/client'
import type { Page } from 'playwright-core'
import { expect, onTestFinished, test } from 'vitest'
import { expectHidden, expectVisible, resize, screenshot } from '../support/browser.ts'
import { useConsole } from '../support/console.ts'

const { createApp, operator, serverUrl, openConsole, link, rowOf, databaseUrl, failPush } =
  useConsole()
const phone = { width: 390, height: 844 }

/** An app in which two members of a channel were made moderators, and one of them removed. */
async function createModerated() {
  const app = await createApp('Moderated')
  const backend = createApi({ url: serverUrl(), apiKey: app.apiKey })
  const { token } = await backend.tokens.create({ userId: 'ana' })
  const ana = createApi({ url: serverUrl(), token })
  await operator().apps.updateKey({ appId: app.id, keyId: app.keyId, name: 'Shop backend' })
  const { channelId } = app
  await ana.members.update({ channelId, userId: 'ben', role: 'moderator' })
  await backend.members.add({ channelId, userIds: ['cook-7'], role: 'moderator' })
  await ana.members.remove({ channelId, userId: 'ben' })
  return app
}

test('the audit log is filtered by operation, by target and by time', async () => {
  const app = await createModerated()
  const page = await openConsole(`#/apps/${app.id}/audit`)
  await expectVisible(rowOf(page, /User ana.*members.remove/))
  await expectVisible(rowOf(page, /“Shop backend”.*members.add/))
  await page.getByRole('combobox', { name: 'Operation' }).fill('members.update')
  await expectHidden(rowOf(page, 'members.remove'))
  await expectVisible(rowOf(page, 'members.update'))
  await page.getByRole('combobox', { name: 'Operation' }).fill('')
  await page.getByRole('searchbox', { name: 'Of what' }).fill('cook-7')
  await expectHidden(rowOf(page, 'members.update'))
  await expectVisible(rowOf(page, 'members.add'))
  await page.getByRole('searchbox', { name: 'Of what' }).fill('')
  await expectVisible(rowOf(page, 'apps.create'))
  await page.getByLabel('Before').fill('2026-01-01T14:04:00')
  await expectVisible(page.getByText('Nothing has been noted.'))
  expect(page.url()).toContain('before=2026-01-01T14')
})

test('on a phone an entry of the audit log shows its target and its request', async () => {
  const app = await createModerated()
  const page = await openConsole(`#/apps/${app.id}/audit`, { viewport: phone })
  const { entries } = await operator().audit.listOfApp({ appId: app.id, limit: 1 })
  const row = rowOf(page, 'members.remove')
  await expectVisible(row.getByText(app.channelId))
  await expectVisible(row.getByText(entries[0]?.requestId ?? 'no request'))
  await screenshot(page, 'console-audit-of-app-phone')
  await page.goto(`${serverUrl()}console/#/audit`)
  await expectVisible(rowOf(page, /members.remove/).getByRole('link', { name: 'Moderated' }))
})

test('times have a zone, and are entered in the one that the page names', async () => {
  const app = await createApp('Far away')
  const page = await openConsole(`#/apps/${app.id}/channels/${app.channelId}`, {
    timezoneId: 'Asia/Tokyo',
  })
  await expectVisible(page.getByText('(Asia/Tokyo)'))
  const sent = page.getByRole('list', { name: 'Messages' }).locator('time').first()
  await expect.poll(() => sent.textContent()).toMatch(/GMT\+9/)
  const iso = (await sent.getAttribute('datetime')) ?? ''
  await expect.poll(() => sent.getAttribute('title')).toContain(iso)
  // A second after it, there.
  const local = new Date(Date.parse(iso) + 9 * 3_600_000 + 1_000).toISOString().slice(0, 19)
  await page.getByLabel('Sent before').fill(local)
  await expect.poll(() => page.url()).toContain('before')
  await expectVisible(page.getByText('With ginger'))
  const before = new Date(Date.parse(local) - 3_600_000).toISOString().slice(0, 19)
  await page.getByLabel('Sent before').fill(before)
  await expectVisible(page.getByText('No messages here.'))
})

test('a channel is shown by its name, and found by its id', async () => {
  const app = await createApp('Named')
  const page = await openConsole(`#/apps/${app.id}/channels`)
  await page.getByRole('searchbox', { name: 'Search channels' }).fill(app.channelId)
  await expectHidden(link(page, 'Kitchen team'))
  await link(page, 'Soup of the day').click()
  await expectVisible(page.getByRole('heading', { name: 'Soup of the day' }))
  await expectVisible(page.getByText(app.channelId))
})

test('a failed job names its message, and leads to the channel', async () => {
  const app = await createApp('Refused pushes')
  const messageId = await failPush(app, 'push refused: answered 422')
  const page = await openConsole(`#/apps/${app.id}/jobs`, { viewport: phone })
  const row = rowOf(page, 'push refused: answered 422')
  await expectVisible(row.getByText(messageId))
  await screenshot(page, 'console-failed-job-phone')
  await link(page, 'Channel').click()
  await expectVisible(page.getByRole('heading', { name: 'Soup of the day' }))
})

test('a key can get another name, scope and expiry, and keeps unchanged fields', async () => {
  const app = await createApp('Keys')
  const expiresAt = '2099-01-02T03:04:05.678Z'
  const key = await operator().apps.createKey({ appId: app.id, name: 'Old', expiresAt })
  const keyNow = async () => {
    const { keys } = await operator().apps.listKeys({ appId: app.id })
    return keys.find(({ id }) => id === key.id)
  }
  const page = await openConsole(`#/apps/${app.id}/keys`)
  const edit = () => rowOf(page, key.id).getByRole('button', { name: 'Edit' }).click()
  await edit()
  const dialog = page.getByRole('dialog')
  await expect
    .poll(() => dialog.getByLabel('Name').evaluate((field) => field === document.activeElement))
    .toBe(true)
  await dialog.getByLabel('Name').fill('Reports')
  await dialog.getByRole('radio', { name: /^Read and mint/ }).check()
  await screenshot(page, 'console-edit-key')
  await dialog.getByRole('button', { name: 'Save' }).click()
  await expectVisible(rowOf(page, /Reports.*Read and mint/))
  expect(await keyNow()).toMatchObject({ name: 'Reports', scopes: ['read', 'mint'], expiresAt })
  await edit()
  await dialog.getByLabel('Expires').fill('2026-01-01T00:00:00')
  await dialog.getByRole('button', { name: 'Save' }).click()
  await expectVisible(rowOf(page, 'Reports').getByText('Expired'))
  await edit()
  await dialog.getByLabel('Expires').fill('')
  await dialog.getByRole('button', { name: 'Save' }).click()
  await expectHidden(rowOf(page, 'Reports').getByText('Expired'))
  expect(await keyNow()).toMatchObject({ name: 'Reports', expiresAt: null })
})

test('failed jobs and both audit logs are loaded again by a button', async () => {
  const app = await createApp('Refreshed')
  const refresh = (page: Page) => page.getByRole('button', { name: 'Refresh', exact: true })
  const page = await openConsole(`#/apps/${app.id}/audit`)
  await expectVisible(rowOf(page, 'apps.create'))
  await operator().apps.update({ appId: app.id, name: 'Renamed' })
  await refresh(page).click()
  await expectVisible(rowOf(page, 'apps.update'))
  for (const address of ['audit', `apps/${app.id}/jobs`, `apps/${app.id}/audit`])
    for (const viewport of [phone, { width: 1280, height: 860 }])
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme })
        await resize(page, viewport)
        await page.goto(`${serverUrl()}console/#/${address}`)
        await expectVisible(refresh(page))
        const name = `console-refresh-${address.split('/').at(-1)}-${viewport.width}-${colorScheme}`
        await screenshot(page, address === 'audit' ? `${name}-all` : name)
        const overflow = 'document.documentElement.scrollWidth > innerWidth'
        await expect.poll(() => page.evaluate(overflow)).toBe(false)
      }
})

test('an app that is not among the first thousand has its name in the log of all', async () => {
  const db = connectOnce(databaseUrl())
  onTestFinished(() => db.end())
  await operator().apps.create({ name: 'The latest of all' })
  // Listed before it, as the older ones.
  await db`
    insert into apps (id, name, created_at)
    select gen_random_uuid(), 'Older ' || n, '2020-01-01'
    from generate_series(1, 1001) n`
  onTestFinished(async () => void (await db`delete from apps where name like 'Older %'`))
  const page = await openConsole('#/audit')
  await expectVisible(rowOf(page, 'apps.create').getByRole('link', { name: 'The latest of all' }))
})

test('the audit log of all apps shows each name of an app on one line', async () => {
  await createModerated()
  const page = await openConsole('#/audit')
  const shown = rowOf(page, 'members.update').getByRole('link', { name: 'Moderated' }).first()
  await expectVisible(shown)
  await expect.poll(() => shown.evaluate((element) => element.getClientRects().length)).toBe(1)
})

test('both audit logs show ids in one line, wide and on a phone', async () => {
  const app = await createModerated()
  const page = await openConsole()
  const { entries } = await operator().audit.listOfApp({ appId: app.id, limit: 1 })
  for (const viewport of [phone, { width: 1280, height: 860 }])
    for (const address of ['audit', `apps/${app.id}/audit`]) {
      await resize(page, viewport)
      await page.goto(`${serverUrl()}console/#/${address}`)
      const row = rowOf(page, entries[0]?.requestId ?? 'no request')
      for (const id of [app.channelId, entries[0]?.requestId ?? '']) {
        const shown = row.getByText(id, { exact: true })
        await expectVisible(shown)
        await expect
          .poll(() => shown.evaluate((element) => element.getClientRects().length))
          .toBe(1)
      }
      await screenshot(page, `console-ids-${address.split('/').length}-${viewport.width}`)
      const [frame] = await page.locator('.table-frame').all()
      await expect
        .poll(() => frame?.evaluate((element) => element.scrollWidth - element.clientWidth))
        .toBe(0)
    }
})

test('on a phone a long name of a channel is shown to its end', async () => {
  const { id: appId, apiKey } = await createApp('Long names')
  const backend = createApi({ url: serverUrl(), apiKey })
  const name = `The room for ${'Donaudampfschifffahrt'.repeat(3)}`
  const { id } = await backend.channels.create({ type: 'group', name })
  const page = await openConsole(`#/apps/${appId}/channels/${id}`, { viewport: phone })
  const title = page.getByRole('heading', { name })
  await expectVisible(title)
  await expect.poll(() => title.evaluate((element) => element.scrollWidth)).toBeLessThanOrEqual(362)
  await link(page, 'Channels').first().click()
  expect((await link(page, name).boundingBox())?.width).toBeGreaterThan(110)
  await screenshot(page, 'console-long-name-phone')
})

test('the search field shows the text of the search that a link or Back opens', async () => {
  const app = await createApp('Searched')
  const page = await openConsole(`#/apps/${app.id}/users`)
  const field = page.getByRole('searchbox', { name: 'Search users' })
  await expectVisible(rowOf(page, 'Ana Sousa'))
  await field.fill('oka')
  await expectHidden(rowOf(page, 'Ana Sousa'))
  await link(page, 'Users').click()
  await expectVisible(rowOf(page, 'Ana Sousa'))
  await expect.poll(() => field.inputValue()).toBe('')
  await page.goBack()
  await expectHidden(rowOf(page, 'Ana Sousa'))
  await expect.poll(() => field.inputValue()).toBe('oka')
})

test('the log shows the changed fields, and no range for a read that found nothing', async () => {
  const app = await createApp('Before')
  const backend = createApi({ url: serverUrl(), apiKey: app.apiKey })
  const { id: channelId } = await backend.channels.create({ type: 'group', name: 'Silence' })
  await operator().inspect.messages({ appId: app.id, channelId })
  const page = await openConsole(`#/apps/${app.id}/settings`)
  await page.getByLabel('Name', { exact: true }).fill('After')
  await page.getByRole('button', { name: 'Save' }).click()
  await expectVisible(page.getByRole('heading', { name: 'After' }))
  const { entries } = await operator().audit.listOfApp({ appId: app.id, limit: 1 })
  expect(entries[0]?.target).toEqual({ name: 'After' })
  await link(page, 'Audit log').last().click()
  const reading = rowOf(page, 'inspect.messages').locator('dt')
  await expect.poll(() => reading.allTextContents()).toEqual(['channelId', 'requestId'])
  await screenshot(page, 'console-audit-nothing-read')
})
