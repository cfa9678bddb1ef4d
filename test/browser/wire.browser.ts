import { createWireLog, MAX_ENTRIES } from '@parley/client/internal/playground/wire-log'
import type { Page } from 'playwright-core'
import { beforeAll, expect, test } from 'vitest'
import { expectAccessible, expectHidden, expectVisible, screenshot } from '../support/browser.ts'
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

let ana: Page
let tokens: string[]
beforeAll(async () => {
  ana = await playground.open('?user=ana')
  await expectVisible(message(ana, 'Ready when you are'))
  const [response] = await Promise.all([ana.waitForResponse(/playground\/token$/), ana.reload()])
  const { token, wsToken } = await response.json()
  tokens = [token, wsToken]
  await expectVisible(ana.getByText('Live', { exact: true }))
  await expectVisible(message(ana, 'Ready when you are'))
  await wireSwitch(ana).click()
})

test('the wire view shows a message in the outbox, as a call, and as an event', async () => {
  await composer(ana, 'Welcome').fill('Hello over the wire')
  await composer(ana, 'Welcome').press('Enter')
  await expectVisible(line(ana, 'Outbox of ana: ?queued ?Hello over the wire'))
  await expectVisible(line(ana, 'Call of ana: ?POST .*/messages ?201 · \\d+ ms'))
  await expectVisible(line(ana, 'Event of ana: ?message.new ?chat:.* #\\d+'))
  await expectVisible(line(ana, 'Outbox of ana: ?removed ?Hello over the wire'))
})

test('a line of the wire view opens to its payload as formatted JSON', async () => {
  const event = line(ana, 'Event of ana: ?message.new').last()
  await event.click()
  expect(await event.getAttribute('aria-expanded')).toBe('true')
  const json = await wireOf(ana).locator('pre').innerText()
  const { type, payload } = JSON.parse(json)
  expect({ type, text: payload.message.text }).toEqual({
    type: 'message.new',
    text: 'Hello over the wire',
  })
  expect(json).toContain('\n  "type": "message.new"')
  await event.click()
  await expectHidden(wireOf(ana).locator('pre'))
})

test('the wire view can be filtered by kind, and by any text of a payload', async () => {
  await control(ana, 'Calls').click()
  await expectHidden(line(ana, 'Call of'))
  await expectVisible(line(ana, 'Event of'))
  await control(ana, 'Calls').click()
  await expectVisible(line(ana, 'Call of'))
  await filterBy(ana, 'hello OVER the wire')
  await expectHidden(line(ana, 'subscribe'))
  await expectVisible(line(ana, 'message.new'))
  await filterBy(ana, 'no such text')
  await expectVisible(wireOf(ana).getByText('Nothing matches the filter'))
  await filterBy(ana, '')
})

test('no token is ever shown in the wire view', async () => {
  await filterBy(ana, 'token')
  await line(ana, 'Call of ana: ?POST /playground/token ?200').first().click()
  await expectVisible(wireOf(ana).locator('pre').getByText('"(hidden)"'))
  await filterBy(ana, 'connect')
  await line(ana, 'Socket of ana: ?connect ?ok').first().click()
  await expectVisible(wireOf(ana).locator('pre').getByText('"(hidden)"'))
  for (const token of tokens) {
    const signature = token.split('.').at(-1) ?? ''
    expect(signature.length).toBeGreaterThan(20)
    await filterBy(ana, signature) // it searches all that could be shown
    await expectVisible(wireOf(ana).getByText('Nothing matches the filter'))
  }
  await filterBy(ana, '')
})

test('a paused wire view stands still, counts what it missed, and goes on from there', async () => {
  await control(ana, 'Pause').click()
  await composer(ana, 'Welcome').fill('Said in the pause')
  await composer(ana, 'Welcome').press('Enter')
  const sent = message(ana, 'Said in the pause').and(ana.locator('[data-status=sent]'))
  await expectVisible(sent)
  const resume = wireOf(ana).getByRole('button', { name: /^Resume \(\d+ new\)$/ })
  await expectVisible(resume)
  expect(await line(ana, 'Said in the pause').count()).toBe(0)
  await resume.click()
  await expectVisible(line(ana, 'queued ?Said in the pause'))
})

test('calls without a network are shown as failed', async () => {
  await ana.getByRole('switch', { name: 'Offline' }).click()
  await expectVisible(line(ana, 'Socket of ana: ?open .*failed'))
  await ana.getByRole('button', { name: /^Invite people/ }).click()
  await ana.keyboard.press('Escape')
  await expectVisible(line(ana, 'Call of ana: ?GET /api/users.* ?no network'))
  await ana.getByRole('switch', { name: 'Offline' }).click()
  await expectVisible(ana.getByText('Live', { exact: true }))
})

test('whether the wire view is open is remembered, and Escape closes it', async () => {
  await ana.reload()
  await expectVisible(line(ana, 'Socket of ana: ?connect ?ok'))
  await control(ana, 'Pause').press('Escape')
  await expectHidden(wireOf(ana))
  await ana.reload()
  await expectVisible(ana.getByText('Live', { exact: true }))
  expect(await wireOf(ana).count()).toBe(0)
})

test.each(['light', 'dark'] as const)(
  'the %s wire view is accessible, docked and as a sheet on a phone',
  async (colorScheme) => {
    await ana.emulateMedia({ colorScheme })
    await wireSwitch(ana).click()
    await line(ana, 'Socket of ana: ?connect ?ok').first().click()
    await expectVisible(wireOf(ana).locator('pre'))
    await screenshot(ana, `wire-${colorScheme}`)
    await expectAccessible(ana)
    await ana.setViewportSize({ width: 390, height: 844 })
    await screenshot(ana, `wire-phone-${colorScheme}`)
    await expectAccessible(ana)
    await control(ana, 'Close wire view').click()
    await expectHidden(wireOf(ana))
    await ana.setViewportSize({ width: 1100, height: 760 })
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
