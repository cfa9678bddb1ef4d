import { existsSync, mkdirSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import axe from 'axe-core'
import {
  type Browser,
  type BrowserContextOptions,
  chromium,
  type Locator,
  type Page,
} from 'playwright-core'
import { expect } from 'vitest'
import { until } from './until.ts'

/** Where screenshots go. The folder is not part of the repository. */
const screenshots = join(import.meta.dirname, '../.screenshots')
/** Generous, as in all tests: a delay on a busy machine is no failure. */
const TIMEOUT_MS = 60_000

/** The Chromium of this machine, without its own sandbox and without background requests. */
export function launchChromium(...more: string[]): Promise<Browser> {
  const args = [
    ...more,
    '--no-sandbox',
    '--disable-gpu',
    '--disable-quic',
    '--no-first-run',
    '--disable-background-networking',
    '--disable-component-update',
    '--disable-sync',
  ]
  return chromium.launch({ executablePath: findChromium(), args })
}

function findChromium() {
  const configured = process.env.CHROMIUM
  const names = ['chromium-headless-shell', 'chromium', 'chromium-browser', 'google-chrome']
  const folders = (process.env.PATH ?? '').split(delimiter)
  const candidates = folders.flatMap((folder) => names.map((name) => join(folder, name)))
  const path = configured ?? candidates.find((candidate) => existsSync(candidate))
  if (path && existsSync(path)) return path
  const where = configured ? `at ${configured}` : 'on PATH'
  throw new Error(
    `no Chromium ${where}: install it (apt-get install chromium) or set CHROMIUM to its path`,
  )
}

/** The errors, warnings and failed requests of a page. */
export type Problems = string[]

/** Opens a page in its own browser context, as another person would, and collects its problems. */
export async function openPage(
  browser: Browser,
  { problems, ...options }: BrowserContextOptions & { problems: Problems },
): Promise<Page> {
  const context = await browser.newContext({
    viewport: { width: 1100, height: 760 },
    reducedMotion: 'reduce',
    ...options,
  })
  context.setDefaultTimeout(TIMEOUT_MS)
  const page = await context.newPage()
  page.on('console', (message) => {
    const type = message.type()
    if (type === 'error' || type === 'warning') problems.push(`${type}: ${message.text()}`)
  })
  page.on('pageerror', (error) => problems.push(`thrown: ${error.message}`))
  page.on('response', (response) => {
    const status = response.status()
    if (status >= 400) problems.push(`${status}: ${response.url()}`)
  })
  page.on('requestfailed', (request) => {
    const reason = request.failure()?.errorText ?? ''
    // Leaving a page aborts its requests.
    if (reason !== 'net::ERR_ABORTED') problems.push(`${reason}: ${request.url()}`)
  })
  return page
}

/** Resizes the window, and waits until the page has its new size: a frame or two later. */
export async function resize(page: Page, size: { width: number; height: number }) {
  await page.setViewportSize(size)
  const frame = 'new Promise((resolve) => requestAnimationFrame(() => resolve()))'
  for (const _ of [1, 2]) await page.evaluate(frame)
}

/** Waits until an element is visible. */
export const expectVisible = (locator: Locator) => locator.first().waitFor()
/** Waits until an element is gone or hidden. */
export const expectHidden = (locator: Locator) => locator.first().waitFor({ state: 'hidden' })

/** Presses Tab until an element has the focus. */
export async function tabTo(page: Page, target: Locator) {
  for (let steps = 0; steps < 40; steps++) {
    if ((await target.and(page.locator(':focus')).count()) > 0) return
    await page.keyboard.press('Tab')
  }
  throw new Error(`Tab does not reach ${target}`)
}

/** Saves a screenshot, for people to look at. */
export async function screenshot(page: Page, name: string) {
  mkdirSync(screenshots, { recursive: true })
  await page.screenshot({ path: join(screenshots, `${name}.png`) })
}

/** Expects no serious accessibility problem that axe can find. */
export async function expectAccessible(page: Page) {
  // Waits for elements that fade in: they lack contrast. Endless animations are ignored.
  const isStill = `document.getAnimations().every(({ effect, playState }) =>
    playState !== 'running' || effect.getComputedTiming().endTime === Infinity)`
  await until(() => page.evaluate<boolean>(isStill))
  await page.evaluate(axe.source)
  const { violations } = await page.evaluate(() =>
    // The line above defines it. Only violations are described: the rest takes much time.
    (globalThis as unknown as { axe: typeof axe }).axe.run({ resultTypes: ['violations'] }),
  )
  const serious = violations.filter(({ impact }) => impact === 'serious' || impact === 'critical')
  const summaries = serious.map(({ id, nodes }) => {
    const places = nodes.map(({ html, failureSummary }) => `${html} ${failureSummary}`)
    return `${id}: ${places.join(' | ')}`
  })
  expect(summaries).toEqual([])
}
