import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { expectHidden, expectVisible } from '../support/browser.ts'
import { networkOf } from '../support/browser-network.ts'
import { message, say, usePlayground } from '../support/playground.ts'

const playground = usePlayground()
/** The calls of a client when it opens or reconnects, whatever the page shows. */
const BUDGET = ['GET /api/channels', 'POST /api/sync']

/** The calls of a page's client. The list without a query is that of the demo's preparation. */
function callsOf(page: Page) {
  const calls: string[] = []
  page.on('request', (request) => {
    const { pathname, search } = new URL(request.url())
    const isSeed = pathname === '/api/channels' && search === ''
    if (pathname.startsWith('/api/') && !isSeed) calls.push(`${request.method()} ${pathname}`)
  })
  return calls
}
/** The calls that count: all but those that mark a visible message as read. */
const counted = (calls: string[]) => calls.filter((call) => !call.endsWith('/read')).toSorted()
const isShown = (page: Page, name: string) =>
  Promise.all([
    expectVisible(page.getByRole('navigation').getByRole('img', { name })),
    expectVisible(page.getByRole('region', { name: /^Welcome/ }).getByRole('img', { name })),
  ])

test('the playground opens with two calls, and comes back from an outage with two', async () => {
  const ben = await playground.open('?user=ben')
  const page = await playground.open('?user=ana')
  await isShown(page, 'Ben Okafor, online')
  const calls = callsOf(page)
  const network = await networkOf(page)
  await page.reload()
  await expectVisible(message(page, 'Ready when you are'))
  await isShown(page, 'Ben Okafor, online')
  expect(counted(calls)).toEqual(BUDGET)

  await network.cut()
  await expectHidden(page.getByText('Live', { exact: true }))
  calls.length = 0
  await say(ben, 'Written while Ana was away', 'Message Welcome')
  await ben.context().close()
  await network.mend()
  await expectVisible(message(page, 'Written while Ana was away'))
  await isShown(page, 'Ben Okafor, offline')
  expect(counted(calls)).toEqual(BUDGET)
  // Calls fail during an outage.
  playground.problems.length = 0
})
