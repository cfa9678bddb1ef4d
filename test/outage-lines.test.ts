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

/** What a server retries each second. The queue does, too, unless it waits for a connection. */
const WEBHOOKS = 'collecting events for webhooks failed, will retry'
const QUEUE = 'job queue unavailable, will restart'

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
  const before = lines().length

  proxy.goDown()
  release?.()
  await until(() => count('job put off') === 1)
  await until(() => count(WEBHOOKS) >= (count(QUEUE) >= 2 ? 2 : 10))
  proxy.comeBack()
  await until(() => count('database available again') === 1)
  const later = lines()
    .slice(before)
    .filter(({ level }) => ['info', 'warn', 'error', 'fatal'].includes(level))
    .map(({ level, msg }) => ({ level, msg }))
  expect(later).toEqual([
    { level: 'warn', msg: 'database unavailable' },
    { level: 'info', msg: 'database available again' },
  ])
})
