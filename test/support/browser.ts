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

/** Where pictures of the pages go; not part of the repository. */
const pictures = join(import.meta.dirname, '../.screenshots')
const patience = 10_000

/** The Chromium of this machine. It stays by itself: asks nobody for updates, and needs no sandbox of its own. */
export function launchChromium(): Promise<Browser> {
  const args = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'] // biome-ignore format: a list
  return chromium.launch({ executablePath: findChromium(), args })
}

function findChromium() {
  const named = process.env.CHROMIUM
  const places = (process.env.PATH ?? '')
    .split(delimiter)
    .flatMap((folder) =>
      ['chromium', 'chromium-browser', 'google-chrome'].map((name) => join(folder, name)),
    )
  const found = named ?? places.find((place) => existsSync(place))
  if (found && existsSync(found)) return found
  throw new Error(
    `there is no Chromium${named ? ` at ${named}` : ' on PATH'}: install it (apt-get install chromium), or set CHROMIUM to its path`,
  )
}

/** What went wrong in a page that nobody asked for: errors, warnings, refused and failed requests. */
export type Problems = string[]

/** A page in a context of its own, as of another person; whatever goes wrong in it is noted. */
export async function openPage(
  browser: Browser,
  { problems, ...options }: BrowserContextOptions & { problems: Problems },
): Promise<Page> {
  const context = await browser.newContext({
    viewport: { width: 1100, height: 760 },
    reducedMotion: 'reduce',
    ...options,
  })
  context.setDefaultTimeout(patience)
  const page = await context.newPage()
  page.on(
    'console',
    (message) =>
      ['error', 'warning'].includes(message.type()) &&
      problems.push(`${message.type()}: ${message.text()}`),
  )
  page.on('pageerror', (error) => problems.push(`thrown: ${error.message}`))
  page.on(
    'response',
    (response) =>
      response.status() >= 400 && problems.push(`${response.status()}: ${response.url()}`),
  )
  page.on('requestfailed', (request) => {
    const reason = request.failure()?.errorText ?? ''
    // Whose page was left no longer waits for an answer.
    if (reason !== 'net::ERR_ABORTED') problems.push(`${reason}: ${request.url()}`)
  })
  return page
}

export const isSeen = (locator: Locator) => locator.first().waitFor()
export const isGone = (locator: Locator) => locator.first().waitFor({ state: 'hidden' })

/** A picture, to be looked at. */
export async function picture(page: Page, name: string) {
  mkdirSync(pictures, { recursive: true })
  await page.screenshot({ path: join(pictures, `${name}.png`) })
}

/** Nothing keeps people from using the page, as far as rules can tell. */
export async function expectAccessible(page: Page) {
  await page.evaluate(axe.source)
  const { violations } = await page.evaluate(() =>
    (globalThis as unknown as { axe: typeof axe }).axe.run(),
  ) // it was just put there
  const found = violations.filter(({ impact }) => impact === 'serious' || impact === 'critical')
  expect(
    found.map(
      ({ id, nodes }) =>
        `${id}: ${nodes.map(({ html, failureSummary }) => `${html} ${failureSummary}`).join(' | ')}`,
    ),
  ).toEqual([])
}
