import type { Page } from 'playwright-core'
import { beforeAll, expect, test } from 'vitest'
import {
  expectAccessible,
  expectHidden,
  expectVisible,
  resize,
  screenshot,
} from '../support/browser.ts'
import { usePlayground } from '../support/playground.ts'

const playground = usePlayground()
const wide = { width: 1440, height: 900 }
const phone = { width: 390, height: 844 }
let docs: Page
beforeAll(async () => {
  docs = await playground.open('../docs', { viewport: wide })
  await expectVisible(docs.getByRole('navigation', { name: 'Documentation' }))
})
const heading = (name: string | RegExp) => docs.getByRole('heading', { name })
const show = (address: string) =>
  docs.evaluate((hash) => {
    location.hash = hash
  }, address)

test.each(['light', 'dark'] as const)(
  'the %s pages of the documentation are accessible',
  async (mode) => {
    await docs.emulateMedia({ colorScheme: mode })
    const pages = [
      ['operation', 'api/messages/messages.send', 'Send a message'],
      ['event', 'events/channel/message.new', 'message.new'],
      ['guide', 'guides/realtime', 'Real time'],
    ]
    for (const [name, address, title = ''] of pages) {
      await show(`#/${address}`)
      await expectVisible(heading(title).and(docs.locator('main h2')))
      await screenshot(docs, `docs-${name}-${mode}`)
      await expectAccessible(docs)
    }
  },
)

test('a tab of the documentation is named after what its page is about', async () => {
  for (const [address, title] of [
    ['', 'Docs · Parley'],
    ['guides/parley', 'Getting started · Parley'],
    ['guides/realtime', 'Real time · Parley'],
    ['api/messages/messages.send', 'Send a message · Parley'],
    ['nowhere', 'There is no such page · Parley'],
  ]) {
    await show(`#/${address}`)
    await expect.poll(() => docs.title()).toBe(title)
  }
})

test('the bar leads to the console and the playground of the server', async () => {
  await show('#/')
  for (const [name, path] of [
    ['Console', '/console/'],
    ['Playground', '/playground/'],
  ]) {
    const link = docs.getByRole('banner').getByRole('link', { name, exact: true })
    await expectVisible(link)
    const href = await link.getAttribute('href')
    expect(new URL(href ?? '', docs.url()).pathname).toBe(path)
  }
})

test('the first page shows guides at once, and the rules of the API above its nouns', async () => {
  await show('#/')
  expect((await docs.locator('.cards').first().boundingBox())?.y).toBeLessThan(wide.height / 2)
  await expectVisible(docs.locator('h3:text("API") + .prose').getByText('RateLimit-Limit'))
})

test('the page of an event shows the fields of its payload, and an example of them', async () => {
  await show('#/events/channel')
  await expectVisible(docs.locator('.cards code').getByText('typing.stop', { exact: true }))
  await show('#/events/channel/typing.start')
  const fields = docs.getByRole('list', { name: 'Fields of the payload' })
  await expectVisible(fields.getByText('channelId', { exact: true }))
  await fields.getByRole('button', { name: 'Show the fields of user' }).click()
  await expectVisible(docs.getByRole('list', { name: 'Fields of user' }).getByText('image'))
  expect(await fields.getByText('payload', { exact: true }).count()).toBe(0)
})

test('the sample of an event is not cut off where the page has two columns', async () => {
  await resize(docs, { width: 1300, height: 900 })
  for (const event of ['channel/message.updated', 'user/channel.total_unread_changed']) {
    await show(`#/events/${event}`)
    const sample = docs.getByRole('region', { name: 'SDK sample' })
    await expectVisible(sample.getByText(event.replace(/.*\//, '')))
    await screenshot(docs, `docs-event-${event.replace('/', '-')}`)
    await expect
      .poll(() => sample.evaluate((frame) => frame.scrollWidth - frame.clientWidth))
      .toBe(0)
  }
  await resize(docs, wide)
})

test('the page of an import shows the fields of each record that a line may be', async () => {
  await show('#/api/imports/imports.run')
  for (const [record, field] of [
    ['ImportedUser', 'email'],
    ['ImportedRead', 'messageId'],
  ]) {
    const fields = docs.getByRole('list', { name: `Fields of ${record}` })
    await expectVisible(fields.getByText(field ?? '', { exact: true }))
  }
  await expectAccessible(docs)
})

test('on a phone the documentation is no wider than the screen, and has a menu', async () => {
  await resize(docs, phone)
  for (const address of ['', 'api/messages/messages.send', 'guides/operations', 'guides/parley']) {
    await show(`#/${address}`)
    await expectVisible(docs.locator('main h2'))
    const width = await docs.evaluate(() => document.documentElement.scrollWidth)
    expect([address, width]).toEqual([address, phone.width])
  }
  await docs.getByRole('button', { name: 'Pages' }).click()
  await expectVisible(docs.getByRole('link', { name: 'Real time' }))
  await screenshot(docs, 'docs-menu-phone')
  await expectAccessible(docs)
  await docs.getByRole('navigation').getByRole('link', { name: 'Real time' }).click()
  await expectHidden(docs.getByRole('navigation', { name: 'Documentation' }))
  await resize(docs, wide)
})

test('a search finds operations, events and parts of guides', async () => {
  await show('#/')
  await docs.keyboard.press('/')
  const field = docs.getByRole('combobox', { name: 'Search the documentation' })
  const options = docs.getByRole('option')
  await docs.keyboard.type('typing.start')
  await expectVisible(options.filter({ hasText: 'Event' }))
  await field.fill('pgbouncer')
  await expectVisible(options.filter({ hasText: 'Guide' }))
  await field.fill('no such word anywhere')
  await expectVisible(docs.getByText('Nothing was found.'))
  await field.fill('pin message')
  await expectVisible(options.filter({ hasText: 'POST /api/channels' }))
  await screenshot(docs, 'docs-search')
  await expectAccessible(docs)
  await field.press('ArrowDown')
  await field.press('ArrowUp')
  await field.press('Enter')
  await expectVisible(heading('Pin a message'))
  expect(new URL(docs.url()).hash).toBe('#/api/pins/pins.pin')
})

test('a search finds the guides about the inside of the server last', async () => {
  await docs.keyboard.press('/')
  await docs.keyboard.type('deletions')
  const options = docs.getByRole('option')
  await expectVisible(options.filter({ hasText: 'Internals' }))
  const found = await options.allInnerTexts()
  const isInside = found.map((text) => /Internals|Architecture/.test(text))
  expect([isInside[0], isInside]).toEqual([false, isInside.toSorted()])
  await docs.keyboard.press('Escape')
})

test('a demo user tries an operation out', async () => {
  await show('#/api/users/users.get')
  const form = docs.getByRole('form', { name: 'Try users.get' })
  await form.getByRole('textbox', { name: 'userId' }).fill('ana')
  await expectVisible(form.getByText('needs other credentials'))
  await form.getByRole('button', { name: 'Choose credentials' }).click()
  const dialog = docs.getByRole('dialog', { name: 'Credentials' })
  await screenshot(docs, 'docs-credentials')
  await expectAccessible(docs)
  await dialog.getByRole('button', { name: 'ana' }).click()
  await expectVisible(form.getByRole('button', { name: 'Demo user ana' }))
  await form.getByRole('button', { name: 'Send' }).click()
  await expectVisible(form.getByText('200'))
  await expectVisible(form.getByText('"Ana Sousa"'))
  await screenshot(docs, 'docs-tried')
  await form.getByRole('textbox', { name: 'userId' }).fill('nobody at all')
  await form.getByRole('button', { name: 'Send' }).click()
  await expectVisible(form.getByText('"NOT_FOUND"'))
  expect(playground.problems.splice(0).join()).toContain('404')
})

test('samples show a call with curl, with the SDK, and by a backend', async () => {
  await show('#/api/messages/messages.send')
  const sample = (name: string) => docs.getByRole('region', { name: `${name} sample` })
  await expect.poll(() => sample('curl').innerText()).toContain(`-d '{"text":"Hello @ben"}'`)
  await docs.getByRole('button', { name: 'SDK', exact: true }).click()
  await expect.poll(() => sample('SDK').innerText()).toContain('await chat.api.messages.send({')
  await docs.getByRole('button', { name: 'SDK for backends' }).click()
  await expect
    .poll(() => sample('SDK for backends').innerText())
    .toContain("chat.as('ana').messages.send({")
})

test('a comment in a block is of one colour', async () => {
  await show('#/guides/bots')
  const comment = docs.locator('.code-comment').filter({ hasText: 'it yields its answer in parts' })
  await expect.poll(() => comment.innerText()).toMatch(/^\/\*\* Your .* parts. \*\/$/)
})

test('code has a button to copy it only where the page has a clipboard', async () => {
  const page = await playground.open('../docs#/api/messages/messages.send')
  const copy = page.getByRole('button', { name: 'Copy', exact: true })
  await expectVisible(copy)
  // Browsers give no clipboard to a page that is not served securely.
  await page.addInitScript('delete Navigator.prototype.clipboard')
  await page.reload()
  await expectVisible(page.getByRole('region', { name: 'curl sample' }))
  expect(await copy.count()).toBe(0)
  await page.context().close()
})

test('links between guides stay on the page, and lead to sections that exist', async () => {
  const names = await docs
    .locator('.navigation a[href^="#/guides/"]')
    .evaluateAll((links) => links.map((link) => link.getAttribute('href') ?? ''))
  expect(names.length).toBeGreaterThan(15)
  const places = new Set(names)
  const links = new Set<string>()
  for (const name of names) {
    await show(name)
    await expectVisible(docs.locator(`.navigation a[aria-current=page][href="${name}"]`))
    const found = await docs.locator('main').evaluate((main) => ({
      ids: [...main.querySelectorAll('[id]')].map(({ id }) => id),
      links: [...main.querySelectorAll('a')].map((link) => link.getAttribute('href') ?? ''),
      files: [...main.querySelectorAll('a[href^="#"]')].filter((link) =>
        link.textContent?.endsWith('.md'),
      ).length,
    }))
    // A reader of this page has no files: a guide is linked to by its title.
    expect([name, found.files]).toEqual([name, 0])
    for (const id of found.ids) places.add(`${name}/${encodeURIComponent(id)}`)
    for (const link of found.links) links.add(link)
  }
  const inside = [...links].filter((link) => link.startsWith('#'))
  expect(inside.length).toBeGreaterThan(20)
  expect(inside.filter((link) => !places.has(link))).toEqual([])
  const outside = [...links].filter((link) => !link.startsWith('#'))
  expect(
    outside.filter((link) => !/^(https:|asyncapi.json$|\.\.\/openapi.json$)/.test(link)),
  ).toEqual([])
  // A readme has full addresses of guides, which are beside it here.
  expect(outside.filter((link) => link.includes('/blob/main/docs/'))).toEqual([])
  await show('#/guides/operations/logs')
  const section = docs.locator('#logs')
  await expect
    .poll(() => section.evaluate((part) => Math.round(part.getBoundingClientRect().top)))
    .toBeLessThan(120)
})
