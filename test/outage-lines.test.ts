import { rmSync } from 'node:fs'
import { afterAll, expect, onTestFinished, test } from 'vitest'
import { openDatabaseProxy } from './support/database-proxy.ts'
import { createDataFolder } from './support/folders.ts'
import { page, servePages } from './support/pages.ts'
import { production, useChildren } from './support/start.ts'
import { until } from './support/until.ts'
import { useWorld } from './support/world.ts'

type Line = { level: string; msg: string }

const world = useWorld()
const directory = createDataFolder('outage-lines')
const children = useChildren()
afterAll(() => rmSync(directory, { recursive: true, force: true }))

/** A server retries this each second. The queue does, too, unless it waits for a connection. */
const WEBHOOKS = 'collecting events for webhooks failed, will retry'
const QUEUE = 'job queue unavailable, will restart'

/**
 * Writes to the console like a library: graphile-worker does, when it stops while it fetches.
 * Here it does so on a signal.
 */
const library = `process.on('SIGUSR2', () => {
  console.trace(new Error('Connection terminated unexpectedly'))
  console.error('odd', 1)
  console.error(new Error('100%s odd'), 'more')
  console.debug('odd %s', 'detail')
  console.log()
  console.dir({ odd: { odd: { odd: {} } } }, { depth: 0 })
  process.emitWarning('careful')
})`
const GONE = { level: 'warn', msg: 'database unavailable' }
const AGAIN = { level: 'info', msg: 'database available again' }
const CONSOLE = [
  { level: 'error', msg: 'odd 1' },
  { level: 'error', msg: '100%s odd more' },
  { level: 'info', msg: '' },
  { level: 'info', msg: '{ odd: [Object] }' },
  { level: 'warn', msg: 'careful' },
]

/** A message with a link to a page that does not answer before it is released. */
async function stagePreview(host: string) {
  const [ana] = await world().users('ana')
  const { id: channelId } = await ana.channels.create({ type: 'group', name: 'Talk' })
  const { id: messageId } = await ana.messages.send({ channelId, text: `http://${host}/slow` })
  await world().db`
    insert into staged_jobs (task, payload)
    values ('preview', ${world().db.json({ appId: world().appId, messageId })})`
}

test('an outage has one line at its start and one at its end, jobs in progress too', async () => {
  const web = await servePages()
  onTestFinished(async () => void (await web.stop()))
  let release: (() => void) | undefined
  web.pages['/slow'] = (response) => {
    release = () => response.end(page('<title>Slow</title>'))
  }
  const proxy = await openDatabaseProxy(world().databaseUrl)
  onTestFinished(proxy.stop)
  const settings = {
    ...production,
    DATABASE_URL: proxy.url,
    LOG_LEVEL: 'debug',
    NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(library)}`,
    LINK_PREVIEW_ALLOW_HOSTS: web.host,
  }
  const server = children.start(settings, directory)
  const lines = () => {
    const complete = server.output().split('\n').slice(0, -1)
    return complete.map((line) => JSON.parse(line) as Line)
  }
  const count = (text: string) => lines().filter(({ msg }) => msg === text).length
  await until(() => count('started') === 1)
  await stagePreview(web.host)
  await until(() => release !== undefined)
  await until(() => count(GONE.msg) === count(AGAIN.msg))
  const before = lines().length

  proxy.goDown()
  release?.()
  await until(() => count('job put off') >= 1)
  await until(() => count(WEBHOOKS) >= (count(QUEUE) >= 2 ? 2 : 10))
  server.kill('SIGUSR2')
  await until(() => count('careful') === 1)
  proxy.comeBack()
  const later = () =>
    lines()
      .slice(before)
      .filter(({ level }) => ['info', 'warn', 'error', 'fatal'].includes(level))
      .map(({ level, msg }) => ({ level, msg }))
  await until(() => later().at(-1)?.msg === AGAIN.msg)
  const said = later()
  expect(said.filter(({ msg }) => ![GONE.msg, AGAIN.msg].includes(msg))).toEqual(CONSOLE)
  expect(count('odd detail')).toBe(1)
  // On a busy machine, a database that does not answer in time is one more outage.
  const outages = said.filter(({ msg }) => [GONE.msg, AGAIN.msg].includes(msg))
  expect(outages).toEqual(outages.map((_, index) => (index % 2 === 0 ? GONE : AGAIN)))
})

test('in a terminal, too, traces of the queue about an outage are hidden at info', async () => {
  const settings = {
    DATABASE_URL: world().databaseUrl,
    NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(library)}`,
  }
  const server = children.start(settings, directory)
  await server.address()
  server.kill('SIGUSR2')
  await until(() => server.output().includes('careful'))
  expect(server.output()).toContain('odd 1')
  expect(server.output()).not.toMatch(/Trace:|terminated unexpectedly/)
})
