import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connectOnce } from '@parley/server/db/client'
import type { Browser, BrowserContextOptions, Locator, Page } from 'playwright-core'
import { afterEach, beforeAll, expect, inject } from 'vitest'
import { launchChromium, openPage, type Problems, picture } from './browser.ts'
import { page as pageOf, servePages } from './pages.ts'
import { databaseUrl } from './postgres.ts'
import { start } from './start.ts'

/** A server with a playground that nobody has visited, and a browser. After each test nothing may have gone wrong in it. */
export function usePlayground() {
  const problems: Problems = []
  const pages: Page[] = []
  let stage: { url: string; browser: Browser; web: Awaited<ReturnType<typeof servePages>> }
  beforeAll(async () => {
    const web = await servePages({
      '/soup': pageOf(
        '<title>Soup of the day</title><meta name="description" content="Pumpkin, with ginger">',
      ),
    })
    const directory = mkdtempSync(join(tmpdir(), 'parley-browser-'))
    const name = `parley_browser_${process.pid}`
    const admin = connectOnce(inject('databaseUrl'))
    await admin.unsafe(`create database ${name} template ${inject('template')}`)
    const settings = {
      RATE_LIMIT_MESSAGES: '0',
      PRESENCE_GRACE_SECONDS: '0',
      LINK_PREVIEW_ALLOW_HOSTS: web.host,
    }
    const variables = {
      ...settings,
      DATABASE_URL: databaseUrl(inject('databaseUrl'), name),
      HOST: '127.0.0.1',
      DATA_DIR: directory,
    }
    const server = start(variables, directory)
    stage = { url: await server.value('Playground'), browser: await launchChromium(), web }
    return async () => {
      await stage.browser.close()
      server.kill('SIGTERM')
      await server.code
      await web.stop()
      await admin.unsafe(`drop database ${name} with (force)`)
      await admin.end()
      rmSync(directory, { recursive: true })
    }
  })
  afterEach(async ({ task }) => {
    if (task.result?.state === 'fail')
      for (const [place, page] of pages.entries()) await picture(page, `when-it-failed-${place}`)
    expect(problems.splice(0)).toEqual([])
  })
  return {
    problems,
    url: () => stage.url,
    web: () => stage.web.url,
    /** The playground in a context of its own. */
    open: async (query = '', options: BrowserContextOptions = {}) => {
      const page = await openPage(stage.browser, { problems, ...options })
      pages.push(page)
      page.once('close', () => pages.splice(pages.indexOf(page), 1))
      await page.goto(stage.url + query)
      return page
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

export async function say(page: Page, text: string) {
  await composer(page).fill(text)
  await composer(page).press('Enter')
}

/** Uses a tool of a message. */
export async function use(article: Locator, tool: string) {
  await article.hover()
  await article.getByRole('button', { name: tool, exact: true }).click()
}
