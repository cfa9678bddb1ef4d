import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { createServer, preview } from 'vite'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { expectVisible, launchChromium, openPage } from '../support/browser.ts'
import { createApp, root } from '../support/consumer.ts'
import { examplesOf } from '../support/examples.ts'
import { freePorts } from '../support/ports.ts'
import { wsUrlOf } from '../support/realtime.ts'
import { createWorld, type World } from '../support/world.ts'

// Follows the quick start as a newcomer does: an application made by Vite, the packed client, and
// the blocks of the client's README pasted as they are, but for the ports.

let app: Awaited<ReturnType<typeof createApp>>
let world: World
let browser: Browser
let backend: ChildProcess
const sites: { url: string; close: () => Promise<void> }[] = []

beforeAll(async () => {
  const [backendPort = 0, ...ports] = await freePorts(3)
  const allowedOrigins = ports.map((port) => `http://localhost:${port}`)
  world = await createWorld({ allowedOrigins, wsUrl: () => wsUrlOf(world) })
  app = await createApp('node_modules/create-vite/template-react-ts')
  paste(backendPort)
  const env = { ...process.env, PARLEY_API_KEY: world.apiKey }
  const program = ['--import', 'tsx', join(app.folder, 'backend.ts')]
  backend = spawn(process.execPath, program, { cwd: root, env, stdio: 'inherit' })
  await app.run('typescript/bin/tsc', '--build')
  await app.run('vite/bin/vite.js', 'build', '--logLevel', 'error')
  await serve(ports)
  browser = await launchChromium()
})
afterAll(async () => {
  await browser?.close()
  for (const { close } of sites) await close()
  await stopBackend()
  await world?.stop()
  app?.remove()
})

for (const [index, command] of ['dev', 'preview'].entries())
  test(`two users of the pasted quick start talk under \`npm run ${command}\``, async () => {
    const [ana, ben] = [await open(index, 'Ana'), await open(index, 'Ben')]
    await write(ana, 'User id', 'nobody')
    await expectVisible(ana.getByText('User not found: "nobody"'))
    await write(ana, 'User id', 'ben')
    await expectVisible(ana.getByPlaceholder('Message'))
    await write(ana, 'Message', `Hello from ${command}`)
    await expectVisible(ben.getByText(`Ana: Hello from ${command}`))
    await write(ben, 'Message', `Hello to ${command}`)
    await expectVisible(ana.getByText(`Ben: Hello to ${command}`))

    await ana.getByRole('button', { name: 'Log out' }).click()
    await logIn(ana, 'Ana')
    await expectVisible(ana.getByText(`Ben: Hello to ${command}`))
  })

test('the pasted quick start says so when its own backend is down', async () => {
  await stopBackend()
  const page = await openPage(browser, { problems: [] })
  await page.goto(sites[1]?.url ?? '')
  await page.getByRole('button', { name: 'Log in as Ana' }).click()
  await expectVisible(page.getByRole('alert').filter({ hasText: '/chat-token answered 5' }))
  expect(await page.getByRole('status').count()).toBe(0)
})

async function stopBackend() {
  if (!backend?.kill()) return
  await once(backend, 'exit')
}

/** The README's blocks, each in its file. */
function paste(backendPort: number) {
  const blocks = examplesOf('client-sdk/README.md')
  const [component = ''] = examplesOf('client-sdk/README.md', 'tsx')
  const [server = '', config = '', plain = ''] = blocks
  const files = { 'backend.ts': server, 'vite.config.ts': config, 'src/plain.ts': plain }
  for (const [file, block] of Object.entries({ ...files, 'src/App.tsx': component })) {
    const text = block
      .replace('http://127.0.0.1:5501', world.url)
      .replace('http://127.0.0.1:3000', `http://127.0.0.1:${backendPort}`)
      .replace('listen(3000', `listen(${backendPort}`)
    writeFileSync(join(app.folder, file), text)
  }
}

/** Starts the servers of `npm run dev` and `npm run preview`. */
async function serve([devPort = 0, previewPort = 0]: number[]) {
  const options = { root: app.folder, logLevel: 'error' } as const
  const dev = await createServer({ ...options, server: { port: devPort, strictPort: true } })
  await dev.listen()
  sites.push({ url: `http://localhost:${devPort}`, close: () => dev.close() })
  const built = await preview({ ...options, preview: { port: previewPort, strictPort: true } })
  sites.push({ url: `http://localhost:${previewPort}`, close: () => built.close() })
}

async function open(site: number, name: string) {
  const page = await openPage(browser, { problems: [] })
  await page.goto(sites[site]?.url ?? '')
  await logIn(page, name)
  return page
}

async function logIn(page: Page, name: string) {
  await page.getByRole('button', { name: `Log in as ${name}` }).click()
  await expectVisible(page.getByRole('status').filter({ hasText: 'live' }))
}

async function write(page: Page, field: string, text: string) {
  await page.getByPlaceholder(field).fill(text)
  await page.getByPlaceholder(field).press('Enter')
}
