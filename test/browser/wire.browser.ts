import { createWireLog, MAX_ENTRIES } from '@parley/client/internal/playground/wire-log'
import type { Locator, Page } from 'playwright-core'
import { expect, test } from 'vitest'
import {
  expectAccessible,
  expectHidden,
  expectVisible,
  resize,
  screenshot,
} from '../support/browser.ts'
import { composer, message, usePlayground } from '../support/playground.ts'

const playground = usePlayground()
const wireOf = (page: Page) => page.getByRole('region', { name: 'Wire', exact: true })
/** A line of the log, by a part of its name: `Event of ben: message.new`. */
const line = (page: Page, name: string) =>
  wireOf(page)
    .getByRole('list', { name: 'Wire log' })
    .getByRole('button', { name: new RegExp(name) })
const control = (page: Page, name: string | RegExp) =>
  wireOf(page).getByRole('button', { name, exact: true })
const filterBy = (page: Page, text: string) =>
  wireOf(page).getByRole('searchbox', { name: 'Filter by text' }).fill(text)
const wireSwitch = (page: Page) => page.getByRole('button', { name: 'Wire', exact: true })

/** The payload below an open line. */
const payloadOf = (row: Locator) => row.locator('xpath=../pre')

let ana: Page | undefined
/** Ana's page with an open wire view. The last test's page is closed only now, for its picture. */
async function openWire() {
  await ana?.context().close()
  const page = await playground.open('?user=ana')
  ana = page
  await expectVisible(message(page, 'Ready when you are'))
  await expectVisible(page.getByText('Live', { exact: true }))
  await wireSwitch(page).click()
  await expectVisible(line(page, 'Socket of ana: ?connect ?ok'))
  return page
}
async function sayInWelcome(page: Page, text: string) {
  await composer(page, 'Welcome').fill(text)
  await composer(page, 'Welcome').press('Enter')
}

test('the wire view shows a message in the outbox, as a call, and as an event', async () => {
  const page = await openWire()
  await sayInWelcome(page, 'Hello over the wire')
  await expectVisible(line(page, 'Outbox of ana: ?queued ?Hello over the wire'))
  await expectVisible(line(page, 'Call of ana: ?POST .*/messages ?201 · \\d+ ms'))
  await expectVisible(line(page, 'Event of ana: ?message.new ?chat:.* #\\d+'))
  await expectVisible(line(page, 'Outbox of ana: ?removed ?Hello over the wire'))
})

test('a line of the wire view opens to its payload as formatted JSON', async () => {
  const page = await openWire()
  await sayInWelcome(page, 'Look inside')
  const event = line(page, 'Event of ana: ?message.new')
  await event.click()
  await expect.poll(() => event.getAttribute('aria-expanded')).toBe('true')
  const json = await payloadOf(event).innerText()
  const { type, payload } = JSON.parse(json)
  expect({ type, text: payload.message.text }).toEqual({
    type: 'message.new',
    text: 'Look inside',
  })
  expect(json).toContain('\n  "type": "message.new"')
  await event.click()
  await expectHidden(payloadOf(event))
})

test('the payload of the last line of the wire view is in view once it is opened', async () => {
  const page = await openWire()
  await control(page, 'Pause').click()
  const last = line(page, '').last()
  await last.click()
  const isInView = () =>
    payloadOf(last).evaluate((payload) => {
      const list = payload.closest('.wire-list')?.getBoundingClientRect()
      return payload.getBoundingClientRect().top + 10 < (list?.bottom ?? 0)
    })
  await expect.poll(isInView).toBe(true)
})

test('the wire view can be filtered by kind, and by any text of a payload', async () => {
  const page = await openWire()
  await sayInWelcome(page, 'Find me by my text')
  await expectVisible(line(page, 'message.new'))
  await control(page, 'Calls').click()
  await expectHidden(line(page, 'Call of'))
  await expectVisible(line(page, 'Event of'))
  await control(page, 'Calls').click()
  await expectVisible(line(page, 'Call of'))
  await filterBy(page, 'find ME by my text')
  await expectHidden(line(page, 'subscribe'))
  await expectVisible(line(page, 'message.new'))
  await filterBy(page, 'no such text')
  await expectVisible(wireOf(page).getByText('Nothing matches the filter'))
})

test('no token is ever shown in the wire view', async () => {
  const page = await openWire()
  const [response] = await Promise.all([
    page.waitForResponse(/playground\/token$/),
    page.reload({ waitUntil: 'commit' }),
  ])
  const { token, wsToken } = await response.json()
  const rows = ['Call of ana: ?POST /playground/token ?200', 'Socket of ana: ?connect ?ok']
  for (const name of rows) {
    const row = line(page, name).first()
    await row.click()
    await expectVisible(payloadOf(row).getByText('"(hidden)"'))
  }
  for (const secret of [token, wsToken]) {
    const signature = secret.split('.').at(-1)
    expect(signature.length).toBeGreaterThan(20)
    await filterBy(page, signature) // it searches all that could be shown
    await expectVisible(wireOf(page).getByText('Nothing matches the filter'))
  }
})

test('a paused wire view stands still, counts what it missed, and goes on from there', async () => {
  const page = await openWire()
  await control(page, 'Pause').click()
  await sayInWelcome(page, 'Said in the pause')
  const sent = message(page, 'Said in the pause').and(page.locator('[data-status=sent]'))
  await expectVisible(sent)
  const resume = wireOf(page).getByRole('button', { name: /^Resume \(\d+ new\)$/ })
  await expectVisible(resume)
  expect(await line(page, 'Said in the pause').count()).toBe(0)
  await resume.click()
  await expectVisible(line(page, 'queued ?Said in the pause'))
})

test('calls without a network are shown as failed', async () => {
  const page = await openWire()
  await page.getByRole('switch', { name: 'Online' }).click()
  await expectVisible(line(page, 'Socket of ana: ?open .*failed'))
  await page.getByRole('button', { name: /^Invite people/ }).click()
  await page.keyboard.press('Escape')
  await expectVisible(line(page, 'Call of ana: ?GET /api/users.* ?no network'))
  await page.getByRole('switch', { name: 'Online' }).click()
  await expectVisible(page.getByText('Live', { exact: true }))
})

test('the wire view stays open or closed over a reload, and Escape closes it', async () => {
  const page = await openWire()
  await page.reload()
  await expectVisible(line(page, 'Socket of ana: ?connect ?ok'))
  await control(page, 'Pause').press('Escape')
  await expectHidden(wireOf(page))
  await page.reload()
  await expectVisible(page.getByText('Live', { exact: true }))
  expect(await wireOf(page).count()).toBe(0)
})

test.each(['light', 'dark'] as const)(
  'the %s wire view is accessible, docked and as a sheet on a phone',
  async (colorScheme) => {
    const page = await openWire()
    await page.emulateMedia({ colorScheme })
    await line(page, 'Socket of ana: ?connect ?ok').first().click()
    await expectVisible(wireOf(page).locator('pre'))
    await screenshot(page, `wire-${colorScheme}`)
    await expectAccessible(page)
    await resize(page, { width: 390, height: 844 })
    await screenshot(page, `wire-phone-${colorScheme}`)
    await expectAccessible(page)
    await control(page, 'Close wire view').click()
    await expectHidden(wireOf(page))
  },
)

test('the wire log keeps the newest entries only, in order', () => {
  const log = createWireLog()
  const recorder = log.recorderOf('ana')
  const changeFirst = recorder.add({ kind: 'call', name: 'first' })
  for (let index = 1; index <= MAX_ENTRIES; index++)
    recorder.add({ kind: 'event', name: `event ${index}` })
  changeFirst({ name: 'late' })
  const names = log.entries.getSnapshot().map(({ name }) => name)
  expect(names).toHaveLength(500)
  expect([names[0], names.at(-1)]).toEqual(['event 1', 'event 500'])
})
