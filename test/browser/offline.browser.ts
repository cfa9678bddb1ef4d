import type { Page } from 'playwright-core'
import { beforeAll, expect, test } from 'vitest'
import { expectHidden, expectVisible, screenshot } from '../support/browser.ts'
import { networkOf } from '../support/browser-network.ts'
import { composer, message, rowOf, usePlayground } from '../support/playground.ts'
import { storedSnapshots, storedTexts } from './storage.ts'

const playground = usePlayground()
let ana: Page
let ben: Page
beforeAll(async () => {
  ben = await playground.open('?user=ben')
  ana = await playground.open('?user=ana')
  for (const page of [ana, ben]) await expectVisible(message(page, 'Ready when you are'))
})

async function sayInWelcome(page: Page, text: string) {
  await composer(page, 'Welcome').fill(text)
  await composer(page, 'Welcome').press('Enter')
  await expectVisible(message(page, text))
}

test('after an offline reload the page shows its snapshots and the unsent messages', async () => {
  const network = await networkOf(ana)
  await ana.reload()
  await expectVisible(ana.getByText('Live', { exact: true }))
  // The page stores snapshots of its data only now and then.
  const both = ['list', expect.stringMatching(/^room /)]
  await expect.poll(() => storedSnapshots(ana)).toEqual(expect.arrayContaining(both))
  await network.cut()
  await expectHidden(ana.getByText('Live', { exact: true }))
  await sayInWelcome(ana, 'Written without a network')
  const stored = () => storedTexts(ana, 'parley-playground')
  await expect.poll(stored).toEqual(['Written without a network'])
  await ana.reload()
  await expectVisible(rowOf(ana, 'Launch week'))
  await rowOf(ana, 'Welcome').click()
  await expectVisible(message(ana, 'Ready when you are'))
  await expectVisible(
    message(ana, 'Written without a network').getByText('Waiting for the network'),
  )
  // Whether there are more is not known.
  expect(await ana.getByRole('button', { name: 'More channels' }).count()).toBe(0)
  await screenshot(ana, 'offline-reloaded')
  expect(await ana.getByText('could not be prepared').count()).toBe(0)
  expect(await message(ben, 'Written without a network').count()).toBe(0)
  await network.mend()
  await expectVisible(message(ben, 'Written without a network'))
  await expectHidden(ana.getByText('Waiting for the network'))
  // Calls fail without a network.
  playground.problems.length = 0
})

test('without a network a channel that was never loaded is not shown as empty', async () => {
  const page = await playground.open('?user=cleo')
  const network = await networkOf(page)
  await page.reload()
  await expectVisible(page.getByText('Live', { exact: true }))
  await expectVisible(rowOf(page, 'Launch week'))
  await network.cut()
  await expectHidden(page.getByText('Live', { exact: true }))
  await rowOf(page, 'Launch week').click()
  await expectVisible(page.getByText('The messages appear here once you are back online'))
  expect(await page.getByText('Nothing here yet').count()).toBe(0)
  await screenshot(page, 'offline-unknown-channel')
  await page.getByRole('button', { name: 'Invite people' }).click()
  await expectVisible(page.getByRole('dialog').getByText('That needs the network'))
  expect(await page.getByText('Everybody is in this channel').count()).toBe(0)
  await page.getByRole('button', { name: 'Done', exact: true }).click()
  await network.mend()
  await expectVisible(message(page, 'Draft of the announcement'))
  playground.problems.length = 0
  await page.context().close()
})

test('no user is shown as online or offline while presence is unknown', async () => {
  const page = await playground.open('?user=ana')
  const network = await networkOf(page)
  await page.reload()
  await rowOf(page, 'Ben Okafor').click()
  const header = page.getByRole('region', { name: 'Ben Okafor' })
  await expectVisible(header.getByText('Online', { exact: true }))
  await expectVisible(header.getByRole('img', { name: 'Ben Okafor, online' }))
  await network.cut()
  await expectHidden(page.getByText('Live', { exact: true }))
  await expectHidden(header.getByText('Online', { exact: true }))
  await expectVisible(header.getByText('Presence unknown'))
  await expectVisible(header.getByRole('img', { name: 'Ben Okafor', exact: true }))
  expect(await page.getByRole('img', { name: /, (online|offline)$/ }).count()).toBe(0)
  await screenshot(page, 'offline-presence')
  await network.mend()
  await expectVisible(header.getByText('Online', { exact: true }))
  await expectVisible(header.getByRole('img', { name: 'Ben Okafor, online' }))
  playground.problems.length = 0
  await page.context().close()
})

test('earlier messages are said to need the network after an offline reload', async () => {
  const { channels } = await playground.backend().as('ben').channels.list()
  const { id } = channels.find(({ name }) => name === 'Word chain') ?? {}
  const page = await playground.open('?user=ben')
  const network = await networkOf(page)
  await page.reload()
  await rowOf(page, 'Word chain').click()
  await expect.poll(() => storedSnapshots(page)).toContain(`room ${id}`)
  await network.cut()
  await page.reload()
  await rowOf(page, 'Word chain').click()
  await expectVisible(message(page, 'ember'))
  await expectVisible(page.getByText('Earlier messages need the network'))
  await network.mend()
  playground.problems.length = 0
  await page.context().close()
})

test('loading more channels without a network says that it needs the network', async () => {
  const cleo = playground.backend().as('cleo')
  for (let count = 0; count < 51; count++)
    await cleo.channels.create({ type: 'group', name: `Room ${count}` })
  const page = await playground.open('?user=cleo')
  await expectVisible(page.getByText('Live', { exact: true }))
  const nextPage = /api\/channels\?.*offset=50/
  await page.route(nextPage, (route) => route.abort('connectionrefused'))
  await page.getByRole('button', { name: 'More channels' }).click()
  await expectVisible(page.getByRole('status').getByText('That needs the network'))
  await page.unroute(nextPage)
  // The list is loaded again by itself.
  await page.getByRole('button', { name: 'More channels' }).click()
  await expectVisible(rowOf(page, 'Launch week'))
  playground.problems.length = 0
  await page.context().close()
})

test('a first visit says why nothing is there, covers nothing, and can try again', async () => {
  const page = await playground.open('../health')
  const token = /playground\/token$/
  await page.route(token, (route) => route.abort('connectionrefused'))
  await page.goto(`${playground.url()}/?user=ben`)
  const alert = page.getByRole('alert')
  await expectVisible(alert.getByText('The server cannot be reached'))
  await expectVisible(page.getByText('The channels appear here once you are back online'))
  await screenshot(page, 'offline-first-visit')
  const bar = await page.getByRole('banner').first().boundingBox()
  const notice = await alert.boundingBox()
  expect(notice?.y).toBeGreaterThanOrEqual((bar?.y ?? 0) + (bar?.height ?? 0))
  await page.unroute(token)
  await alert.getByRole('button', { name: 'Try again' }).click()
  await expectVisible(rowOf(page, 'Launch week'))
  await expectHidden(page.getByRole('alert'))
  playground.problems.length = 0
  await page.context().close()
})
