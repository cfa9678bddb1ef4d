import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { expectAccessible, expectHidden, expectVisible, screenshot } from '../support/browser.ts'
import { useConsole } from '../support/console.ts'

const { button, createApp, openConsole, rowOf } = useConsole()

async function pressEscape(page: Page) {
  // A browser may let a page refuse only the first.
  for (const _ of [1, 2, 3]) await page.keyboard.press('Escape')
}

/** A page that shows the key of a new app. */
async function createFromConsole(name: string) {
  const page = await openConsole()
  await button(page, 'New app').click()
  await page.getByLabel('Name').fill(name)
  await page.keyboard.press('Enter')
  await expectVisible(page.getByText(`${name} is ready`))
  return page
}
const secret = (page: Page) => page.getByRole('dialog').locator('code')

test('a key that is shown only once stays until a button closes its dialog', async () => {
  const page = await createFromConsole('Kept')
  const shown = (await secret(page).textContent()) ?? ''
  expect(shown.length).toBeGreaterThan(20)
  await pressEscape(page)
  await page.mouse.click(8, 8)
  expect(await secret(page).textContent()).toBe(shown)
  await expectVisible(secret(page))
  await button(page, 'Done').click()
  await expectVisible(page.getByRole('heading', { name: 'Kept' }))
  expect(await page.getByText(shown).count()).toBe(0)
})

test('a new key of an app is shown until the close button of its dialog is pressed', async () => {
  const { id } = await createApp('More keys')
  const page = await openConsole(`#/apps/${id}/keys`)
  await button(page, 'New key').click()
  await page.getByLabel('Name').fill('Billing')
  await button(page, 'Create key').click()
  await expectVisible(secret(page))
  await pressEscape(page)
  await page.mouse.click(8, 8)
  await expectVisible(secret(page))
  await button(page, 'Close').click()
  await expectHidden(secret(page))
  await expectVisible(rowOf(page, 'Billing'))
})

test('pressing Enter once more copies a new key instead of closing its dialog', async () => {
  const page = await createFromConsole('Hasty')
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
  await page.keyboard.press('Enter')
  await expectVisible(button(page, 'Copied'))
  const copied = page.evaluate(() => navigator.clipboard.readText())
  expect(await copied).toBe(await secret(page).textContent())
})

test('the console reports a key that was not copied, and still shows it', async () => {
  const page = await createFromConsole('Uncopied')
  await page.evaluate(() => {
    navigator.clipboard.writeText = () => Promise.reject(new DOMException('', 'NotAllowedError'))
  })
  await button(page, 'Copy').click()
  await expectVisible(page.getByRole('alert').getByText('The browser did not copy it.'))
  await expectVisible(secret(page))
  await screenshot(page, 'console-key-not-copied')
  await expectAccessible(page)
})
