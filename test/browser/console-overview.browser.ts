import type { Page, Route } from 'playwright-core'
import { expect, test } from 'vitest'
import { expectHidden, expectVisible } from '../support/browser.ts'
import { useConsole } from '../support/console.ts'

const { createApp, openConsole, serverUrl } = useConsole()

/** The overview of an app, on a page whose clock stands still, and the calls it waits for. */
async function openOverview(name: string) {
  const app = await createApp(name)
  const page = await openConsole()
  const held: Route[] = []
  await page.clock.install()
  await page.clock.pauseAt(Date.now() + 60_000)
  await page.route(/\/usage\?/, (route) => void held.push(route))
  await page.goto(`${serverUrl()}console/#/apps/${app.id}`)
  await expect.poll(() => held.length).toBe(1)
  return { page, held }
}

/** Lets this time pass, a second at a time, so that the page shows what each has brought. */
async function pass(page: Page, seconds: number) {
  for (let second = 0; second < seconds; second++) await page.clock.runFor(1_000)
}

const shown = (page: Page) => page.getByText('Active users a day')

test('an overview whose answers take longer than its interval shows them', async () => {
  const { page, held } = await openOverview('Slow')
  await pass(page, 6)
  await held[0]?.continue()
  await expectVisible(shown(page))
  await pass(page, 5)
  await expect.poll(() => held.length).toBe(2)
})

test('an overview whose server hangs says so, and loads at once when asked to', async () => {
  const { page, held } = await openOverview('Hung')
  await pass(page, 16)
  await expectVisible(page.getByRole('alert').getByText('TIMEOUT'))
  await pass(page, 5)
  await expect.poll(() => held.length).toBe(2)
  await page.getByRole('button', { name: 'Try again' }).click()
  await expect.poll(() => held.length).toBe(3)
  await held[2]?.continue()
  await expectVisible(shown(page))
  await expectHidden(page.getByRole('alert'))
})
