import { expect, test } from 'vitest'
import { expectVisible } from '../support/browser.ts'
import { message, rowOf, usePlayground } from '../support/playground.ts'
import { until } from '../support/until.ts'

const playground = usePlayground()

test('older messages that fail to load are not asked for again at once', async () => {
  const page = await playground.open('?user=ana')
  const ana = playground.backend().as('ana')
  const { id: channelId } = await ana.channels.create({ type: 'group', name: 'Archive' })
  for (let number = 0; number < 130; number++)
    await ana.messages.send({ channelId, text: `Line ${number}.` })
  await rowOf(page, 'Archive').click()
  await expectVisible(message(page, 'Line 129.'))
  let asked = 0
  const older = /messages\?.*before=/
  await page.route(older, (route) => {
    asked += 1
    return route.fulfill({ status: 500, body: '{}' })
  })
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
