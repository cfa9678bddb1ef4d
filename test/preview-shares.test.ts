import { createFetch } from '@parley/server/jobs/previews/fetch'
import { expect, onTestFinished, test } from 'vitest'
import { ageTriedJobs } from './support/aged-jobs.ts'
import { stopClock } from './support/clock.ts'
import { observeConnections } from './support/connections.ts'
import { idle } from './support/idle.ts'
import { silentLog } from './support/jobs.ts'
import { serveNames } from './support/names.ts'
import { page, servePages } from './support/pages.ts'
import { usePreviews } from './support/previews.ts'
import { sample } from './support/scrape.ts'
import { until } from './support/until.ts'

const connections = observeConnections()
const WINDOW_MS = 60_000
const logged: string[] = []
const note = (_: object, message: string) => void logged.push(message)
const scene = usePreviews({
  perHost: { most: 2, windowMs: WINDOW_MS },
  log: { ...silentLog, warn: note, error: note },
})

test('a link whose host was fetched from too often gets its preview later', async () => {
  const { web, send, titles, updatesOf } = scene()
  const clock = stopClock()
  // What another test has fetched no longer counts.
  clock.putForward(WINDOW_MS + 1)
  const { id } = await send(['/a', '/b', '/c'].map((path) => web.url + path).join(' '))
  await until(async () => (await titles(id))?.length === 2)
  clock.putForward(2 * WINDOW_MS + 2)
  await until(async () => (await titles(id))?.length === 3)
  expect(await titles(id)).toEqual(['A', 'B', 'C'])
  const [first] = await updatesOf(id)
  expect(first?.payload.message).toMatchObject({ linkPreviews: [{ title: 'A' }, { title: 'B' }] })
  expect(web.requestsFor('/a')).toBe(1)
})

test('a preview over the share of its host waits and is dropped without an alert', async () => {
  const { web, send, titles, world } = scene()
  const { metrics, operator, appId } = world
  const countOf = async (outcome: string) => {
    const counted = await metrics.registry.getSingleMetricAsString('parley_jobs_total')
    return sample(counted, `parley_jobs_total{task="preview",outcome="${outcome}"}`)
  }
  const { id } = await send(['/e', '/f', '/g'].map((path) => web.url + path).join(' '))
  await ageTriedJobs(world)
  await idle(world)
  expect(logged).toEqual([])
  expect((await operator.jobs.list({ appId, state: 'failed' })).jobs).toEqual([])
  expect([await countOf('dropped'), await countOf('given_up')]).toEqual([1, 0])
  expect(await titles(id)).toEqual(undefined)
})

test('fetches are counted by host, redirects included', async () => {
  const target = await servePages({ '/page': page('<title>Target</title>') })
  const other = await servePages({
    '/page': page('<title>Other</title>'),
    '/to': (response) => void response.writeHead(302, { location: `${target.url}/page` }).end(),
  })
  onTestFinished(async () => void (await Promise.all([target.stop(), other.stop()])))
  const allowedHosts = [target.host, other.host]
  const fetchFor = createFetch({ allowedHosts, perHost: { most: 3, windowMs: 600_000 } })
  const get = (url: string, appId = 'app') =>
    fetchFor(appId)(url, { type: 'html', signal: new AbortController().signal })
  for (const url of [`${target.url}/page`, `${target.url}/none`, `${other.url}/to`]) await get(url)
  await expect(get(`${target.url}/page`)).rejects.toThrow('rate limit: 3 fetches')
  await expect(get(`${other.url}/to`)).rejects.toThrow('rate limit: 3 fetches')
  expect((await get(`${other.url}/page`))?.url.href).toBe(`${other.url}/page`)
  expect(target.requested).toHaveLength(3)
  // Another app waits for none of these.
  expect((await get(`${other.url}/to`, 'other'))?.url.href).toBe(`${target.url}/page`)
})

test('without a setting, an app fetches 60 times a minute from a host', async () => {
  const target = await servePages({})
  onTestFinished(async () => void (await target.stop()))
  stopClock()
  const get = createFetch({ allowedHosts: [target.host] })('app')
  const fetched = () => get(target.url, { type: 'html', signal: new AbortController().signal })
  await Promise.all(Array.from({ length: 60 }, fetched))
  await expect(fetched()).rejects.toThrow('rate limit: 60 fetches')
})

test('fetches are counted by address, whatever their names: of IPv6 the network', async () => {
  const names = await serveNames({
    'one.test': ['93.184.216.34', '8.8.8.8'],
    'two.test': ['93.184.216.34'],
    'three.test': ['8.8.4.4', '93.184.216.34'],
    'four.test': ['8.8.4.4'],
    'five.test': ['8.8.8.8'],
  })
  onTestFinished(() => void names.stop())
  const { resolver } = names
  const perAddress = { most: 2, windowMs: 600_000 }
  const fetchFor = createFetch({ allowedHosts: [], resolver, perAddress })
  /** Whether a fetch was let through. No connection is made: each attempt is given up. */
  const isLetThrough = async (host: string, appId = 'app') => {
    connections.forget()
    const stop = new AbortController()
    connections.onAttempt(() => stop.abort())
    const fetched = connections.observed(() =>
      fetchFor(appId)(`http://${host}/`, { type: 'html', signal: stop.signal }),
    )
    const error: unknown = await fetched.catch((error) => error)
    expect(connections.attempts().length > 0).toBe(stop.signal.aborted)
    if (!stop.signal.aborted) expect(String(error)).toContain('rate limit: 2 fetches')
    return stop.signal.aborted
  }
  expect([await isLetThrough('one.test'), await isLetThrough('two.test')]).toEqual([true, true])
  for (const host of ['one.test', 'two.test', 'three.test', '93.184.216.34'])
    expect([host, await isLetThrough(host), await isLetThrough(host, host)]).toEqual([
      host,
      false,
      true,
    ])
  // Refused fetches, and addresses to which no connection was made, do not count.
  for (const host of ['four.test', 'five.test', 'four.test', 'five.test'])
    expect([host, await isLetThrough(host)]).toEqual([host, true])
  const hosts = ['[2001:4860:4860::1]', '[2001:4860:4860::2]', '[2001:4860:4860::3]']
  const ipv6: boolean[] = []
  for (const host of hosts) ipv6.push(await isLetThrough(host))
  expect(ipv6).toEqual([true, true, false])
})
