import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { expectVisible } from '../support/browser.ts'
import { message, rowOf, usePlayground } from '../support/playground.ts'
import { until } from '../support/until.ts'

const playground = usePlayground()

test('a list at its end stays there when many messages arrive at once', async () => {
  const page = await playground.open('?user=ana')
  const send = await createChannel('Burst')
  await rowOf(page, 'Burst').click()
  await send(0)
  await expectVisible(message(page, 'Line 0.'))
  await Promise.all(Array.from({ length: 100 }, (_, number) => send(number + 1)))
  await expectVisible(message(page, 'Line 100.'))
  await expect.poll(() => rowsOf(page)).toBe(101)
  await expect.poll(() => untilEnd(page)).toBeLessThan(48)
  await page.context().close()
})

test('older messages that fail to load are not asked for again at once', async () => {
  // Sent before the page is opened, which would know those that arrive meanwhile.
  const send = await createChannel('Archive')
  for (let number = 0; number < 130; number++) await send(number)
  const page = await playground.open('?user=ana')
  let asked = 0
  const older = /messages\?.*before=/
  await page.route(older, (route) => {
    asked += 1
    return route.fulfill({ status: 500, body: '{}' })
  })
  await rowOf(page, 'Archive').click()
  await expectVisible(message(page, 'Line 129.'))
  const toTop = () => page.getByRole('log').evaluate((box) => box.scrollTo(0, 0))
  // A list that is still being laid out goes back to its end.
  await until(async () => {
    await toTop()
    return asked > 0
  })
  await expectVisible(page.getByRole('status').getByText('Something went wrong').first())
  // In the time of many other requests, between which the page is drawn.
  for (let round = 0; round < 40; round++)
    await page.evaluate(async () => {
      await fetch('/health')
      await new Promise(requestAnimationFrame)
    })
  expect(asked).toBeLessThanOrEqual(2)
  await page.unroute(older)
  await expectVisible(message(page, 'Line 50.'))
  playground.problems.length = 0
  await page.context().close()
})

const createChannel = async (name: string) => {
  const ana = playground.backend().as('ana')
  const { id: channelId } = await ana.channels.create({ type: 'group', name })
  return (number: number) => ana.messages.send({ channelId, text: `Line ${number}.` })
}

const rowsOf = (page: Page) => page.getByRole('log').getByRole('article').count()

/** How far the list is from its end, in pixels. */
const untilEnd = (page: Page) =>
  page
    .getByRole('log')
    .evaluate(
      ({ scrollHeight, scrollTop, clientHeight }) => scrollHeight - scrollTop - clientHeight,
    )
