import { readFileSync } from 'node:fs'
import { extname, join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { expectVisible, launchChromium, openPage } from '../support/browser.ts'
import { networkOf } from '../support/browser-network.ts'
import { createApp } from '../support/consumer.ts'
import { serveLocally } from '../support/local-server.ts'
import { wsUrlOf } from '../support/realtime.ts'
import { createWorld, type World } from '../support/world.ts'
import { storedTexts } from './storage.ts'

// An app as a developer makes it, outside the repository: Vite, React, TypeScript, and the packed
// client. Its pages are served by a server of its own, which also hands out tokens.

type App = Awaited<ReturnType<typeof createApp>>
type Site = Awaited<ReturnType<typeof serveApp>>
let app: App
let site: Site
let world: World
let browser: Browser
const problems: string[] = []

beforeAll(async () => {
  app = await createApp()
  await app.run('typescript/bin/tsc')
  await app.run('vite/bin/vite.js', 'build', '--logLevel', 'error')
  site = await serveApp(app.folder)
  const allowedOrigins = [site.origin('localhost'), site.origin('chat.test')]
  world = await createWorld({ allowedOrigins, wsUrl: () => wsUrlOf(world) })
  await world.users('ana', 'ben')
  const ana = world.api({ token: await tokenOf('ana') })
  await ana.channels.create({ type: 'group', name: 'Talk', memberIds: ['ben'] })
  browser = await launchChromium('--host-resolver-rules=MAP *.test 127.0.0.1')
})
afterAll(async () => {
  await browser?.close()
  await world?.stop()
  await site?.stop()
  app?.remove()
})

test('a fresh app with the packed client compiles strictly and builds', () => {
  expect(readFileSync(join(app.folder, 'dist/index.html'), 'utf8')).toContain('/assets/')
})

test('two users of the fresh app talk, and offline messages survive a reload', async () => {
  const [ana, ben] = await Promise.all([open('ana'), open('ben')])
  await say(ana, 'Soup?')
  await expectVisible(shown(ben, 'ana: Soup?'))
  await say(ben, 'Salad')
  await expectVisible(shown(ana, 'ben: Salad'))

  const network = await networkOf(ana)
  await ana.reload()
  await expectLive(ana)
  await network.cut()
  await expectStatus(ana, 'offline')
  await say(ana, 'Then soup')
  await expect.poll(() => storedTexts(ana)).toEqual(['Then soup'])
  await ana.reload()
  for (const text of ['ana: Soup?', 'ben: Salad']) await expectVisible(shown(ana, text))
  await expectVisible(shown(ana, 'ana: Then soup').and(ana.locator('[data-status=pending]')))

  const tab = await ana.context().newPage()
  await tab.goto(ana.url())
  await expectVisible(shown(tab, 'ana: Then soup').and(tab.locator('[data-status=pending]')))
  await say(tab, 'With bread')
  await expectVisible(shown(ana, 'ana: With bread'))
  expect(await shown(ben, 'ana: Then soup').count()).toBe(0)

  await network.mend()
  await tab.evaluate("dispatchEvent(new Event('online'))")
  await expectVisible(shown(ben, 'ana: With bread'))
  const expected = ['ana: Soup?', 'ben: Salad', 'ana: Then soup', 'ana: With bread']
  for (const page of [ana, tab, ben]) {
    await expect.poll(() => page.locator('[data-status=sent]').allInnerTexts()).toEqual(expected)
    await expect.poll(() => page.getByRole('listitem').count()).toBe(expected.length)
  }
  // Calls fail without a network.
  problems.length = 0
})

test('a page fetches at its start what a later deployment would take away', async () => {
  const page = await open('ana')
  const fetched = `performance.getEntriesByType('resource').map(({ name }) => name)`
  await expect
    .poll(() => page.evaluate<string[]>(fetched))
    .toContainEqual(expect.stringMatching(/own-calls/))
  expect(problems).toEqual([])
})

test('a page on plain HTTP sends messages without the APIs of secure contexts', async () => {
  const page = await open('ben', { host: 'chat.test' })
  expect(await page.evaluate('[isSecureContext, typeof crypto.randomUUID]')).toEqual([
    false,
    'undefined',
  ])
  await say(page, 'Over plain http')
  await expectVisible(shown(page, 'ben: Over plain http').and(page.locator('[data-status=sent]')))
  expect(problems).toEqual([])
})

test('a service worker can send a message', async () => {
  const page = await open('ana')
  const send = `async (address) => {
    const { installing, active } = await navigator.serviceWorker.register(address, {
      type: 'module',
    })
    const { port1, port2 } = new MessageChannel()
    const answer = new Promise((resolve) => {
      port1.onmessage = ({ data }) => resolve(data)
    })
    ;(installing ?? active).postMessage({ text: 'From the worker' }, [port2])
    return await answer
  }`
  const address = `/worker.js${new URL(page.url()).search}`
  expect(await page.evaluate(`(${send})(${JSON.stringify(address)})`)).toBe('From the worker')
  await expectVisible(shown(page, 'ana: From the worker'))
  expect(problems).toEqual([])
})

test('a page without a build chats with the files of the package', async () => {
  const page = await openPage(browser, { problems })
  await page.goto(`${site.origin('localhost')}/plain.html?user=ben&server=${world.url}`)
  await expectLive(page)
  await expectVisible(shown(page, 'ben: Without a build').and(page.locator('[data-status=sent]')))
  expect(problems).toEqual([])
})

test('a page shows an error if its origin is not allowed, or its server URL is wrong', async () => {
  const refused = await open('ben', { host: 'other.test', isLive: false })
  await expectVisible(refused.getByRole('alert').filter({ hasText: site.origin('other.test') }))
  await expectVisible(refused.getByRole('alert').filter({ hasText: 'ALLOWED_ORIGINS' }))

  const lost = await open('ben', { isLive: false, server: site.origin('localhost') })
  await expectVisible(lost.getByRole('alert').filter({ hasText: 'is the url right?' }))
  problems.length = 0
})

type Visit = { host?: string; isLive?: boolean; server?: string }

async function open(user: string, { host = 'localhost', isLive = true, server }: Visit = {}) {
  const page = await openPage(browser, { problems })
  await page.goto(`${site.origin(host)}/?user=${user}&server=${server ?? world.url}`)
  if (isLive) await expectLive(page)
  return page
}

const expectStatus = (page: Page, status: string) =>
  expectVisible(page.getByRole('status').filter({ hasText: status }))
const expectLive = (page: Page) => expectStatus(page, 'live')
const shown = (page: Page, text: string) => page.getByRole('listitem').filter({ hasText: text })

async function say(page: Page, text: string) {
  await page.getByRole('textbox', { name: 'Message' }).fill(text)
  await page.getByRole('textbox', { name: 'Message' }).press('Enter')
}

const tokenOf = async (userId: string) => (await mint(userId)).token
const mint = (userId: string) => world.backend.tokens.create({ userId })

const types: Record<string, string> = {
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.css': 'text/css',
}

/** The file of a page: of the build, or for the page without one, as it is. */
function fileOf(pathname: string) {
  if (pathname === '/plain.html') return pathname
  if (pathname.startsWith('/client/'))
    return pathname.replace('/client', 'node_modules/@parley/client/dist/browser')
  return join('dist', pathname === '/' ? 'index.html' : pathname)
}

/** The files that were built, and tokens. */
async function serveApp(folder: string) {
  const server = await serveLocally(async (request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://app')
    if (pathname === '/chat-token')
      return response
        .writeHead(200, { 'content-type': 'application/json' })
        .end(JSON.stringify(await mint(searchParams.get('user') ?? '')))
    const file = fileOf(pathname)
    try {
      const content = readFileSync(join(folder, file))
      response.writeHead(200, { 'content-type': types[extname(file)] ?? 'text/plain' }).end(content)
    } catch {
      response.writeHead(404).end('<h1>Not here</h1>')
    }
  })
  const { port } = new URL(server.url)
  return { ...server, origin: (host: string) => `http://${host}:${port}` }
}
