import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createChatServer } from '@parley/client/server'
import { connectOnce } from '@parley/server/db/client'
import type { Browser, BrowserContextOptions, Locator, Page } from 'playwright-core'
import { afterEach, beforeAll, expect, inject, onTestFinished, vi } from 'vitest'
import { expectVisible, launchChromium, openPage, type Problems, screenshot } from './browser.ts'
import { page as pageOf, servePages } from './pages.ts'
import { databaseUrl } from './postgres.ts'
import { ADMIN_KEY } from './secrets.ts'
import { start } from './start.ts'
import { patient } from './until.ts'

/**
 * A server whose playground has had no visits, and a browser. A test fails if its pages had
 * problems that it did not expect.
 */
export function usePlayground() {
  const problems: Problems = []
  const pages: Page[] = []
  let fixture: {
    url: string
    browser: Browser
    web: Awaited<ReturnType<typeof servePages>>
    databaseUrl: string
    apiKey: string
  }
  beforeAll(async () => {
    const web = await servePages({
      '/soup': pageOf(`
        <title>Soup of the day</title>
        <meta name="description" content="Pumpkin, with ginger">`),
      '/before-send': JSON.stringify({ action: 'refuse', reason: 'No soup on Mondays' }),
    })
    const directory = mkdtempSync(join(tmpdir(), 'parley-browser-'))
    const name = `parley_browser_${process.pid}`
    const admin = connectOnce(inject('databaseUrl'))
    await admin.unsafe(`create database ${name} template ${inject('template')}`)
    const settings = {
      RATE_LIMIT_MESSAGES: '0',
      PRESENCE_GRACE_SECONDS: '0',
      LINK_PREVIEW_ALLOW_HOSTS: web.host,
      WEBHOOK_ALLOW_HOSTS: web.host,
    }
    const variables = {
      ...settings,
      DATABASE_URL: databaseUrl(inject('databaseUrl'), name),
      HOST: '127.0.0.1',
      ADMIN_API_KEY: ADMIN_KEY,
      DATA_DIR: directory,
      DEMO_APP: 'yes',
    }
    const server = start(variables, directory)
    fixture = {
      url: await server.value('Playground'),
      browser: await launchChromium(),
      web,
      databaseUrl: variables.DATABASE_URL,
      apiKey: await server.value('Demo API key'),
    }
    return async () => {
      await fixture.browser.close()
      server.kill('SIGTERM')
      await server.code
      await web.stop()
      await admin.unsafe(`drop database ${name} with (force)`)
      await admin.end()
      rmSync(directory, { recursive: true })
    }
  })
  afterEach(async ({ task }) => {
    if (task.result?.state === 'fail') {
      for (const [index, page] of pages.entries()) await screenshot(page, `failed-${index}`)
    }
    expect(problems.splice(0)).toEqual([])
  })
  const open = async (query = '', options: BrowserContextOptions = {}) => {
    const page = await openPage(fixture.browser, { problems, ...options })
    pages.push(page)
    page.once('close', () => pages.splice(pages.indexOf(page), 1))
    await page.goto(new URL(query, `${fixture.url}/`).href)
    return page
  }
  return {
    problems,
    url: () => fixture.url,
    web: () => fixture.web.url,
    databaseUrl: () => fixture.databaseUrl,
    apiKey: () => fixture.apiKey,
    /** A backend of the playground's app. */
    backend: () => createChatServer({ url: new URL(fixture.url).origin, apiKey: fixture.apiKey }),
    /** Opens the playground, or another page beside it, in its own browser context. */
    open,
    /** Opens a page as `open` does, and closes it after the test. */
    openInTest: async (...given: Parameters<typeof open>) => {
      const page = await open(...given)
      onTestFinished(() => page.context().close())
      return page
    },
    /** Visits the playground, which prepares its demo, and leaves again. */
    visit: async () => {
      const page = await open('?user=ana')
      await expectVisible(rowOf(page, 'Welcome'))
      await page.context().close()
    },
  }
}

export const rowOf = (page: Page, channel: string) =>
  page
    .getByRole('navigation', { name: 'Channels' })
    .getByRole('button', { name: new RegExp(channel) })
export const message = (page: Page | Locator, text: string) =>
  page.getByRole('article').filter({ hasText: text })
export const composer = (page: Page, channel = 'Kitchen') =>
  page.getByRole('textbox', { name: `Message ${channel}` })

/** Writes and sends a message, or what another box is for. */
export async function say(page: Page, text: string, box = 'Message Kitchen') {
  const input = page.getByRole('textbox', { name: box })
  await input.fill(text)
  await input.press('Enter')
}

/** Hovers over a message, again if it moves away, and clicks one of its tools. */
export const useTool = (article: Locator, tool: string) =>
  vi.waitFor(async () => {
    await article.hover()
    await article.getByRole('button', { name: tool, exact: true }).click({ timeout: 5_000 })
  }, patient)
