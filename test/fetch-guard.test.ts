import { hostOf, isIpAddress, isPublicAddress } from '@parley/server/core/addresses'
import { createFetch } from '@parley/server/jobs/previews/fetch'
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { observeConnections } from './support/connections.ts'
import { serveNames } from './support/names.ts'
import { page, servePages } from './support/pages.ts'

const connections = observeConnections()

/**
 * No request may ever arrive here. It listens on the loopback address, on its own port and on 80.
 */
let canary: Awaited<ReturnType<typeof servePages>>
let canary80: Awaited<ReturnType<typeof servePages>> | undefined
let names: Awaited<ReturnType<typeof serveNames>>
/** An allowed host that redirects to the canary. */
let web: Awaited<ReturnType<typeof servePages>>
let rebinds = 0
beforeAll(async () => {
  canary = await servePages({ '/': page('<title>Secret</title>') })
  // Often only root may listen on port 80.
  canary80 = await servePages({ '/': page('<title>Secret</title>') }, { port: 80 }).catch(
    () => undefined,
  )
  names = await serveNames({
    'private.test': ['10.0.0.1'],
    'loopback.test': ['127.0.0.1'],
    'metadata.test': ['169.254.169.254'],
    'mixed.test': ['93.184.216.34', '127.0.0.1'],
    'mixed-last.test': ['127.0.0.1', '10.0.0.1', '93.184.216.34'],
    'public.test': ['93.184.216.34', '8.8.8.8'],
    'rebinding.test': () => (rebinds++ === 0 ? ['93.184.216.34'] : ['127.0.0.1']),
    'empty.test': [],
    'six.test': ['2606:4700:4700::1111'],
    'loopback-six.test': ['::1'],
    'mapped-six.test': ['::ffff:7f00:1'],
    'mixed-six.test': ['93.184.216.34', 'fd00:ec2::254'],
    'mixed-last-six.test': ['2606:4700:4700::1111', '10.0.0.1'],
  })
  web = await servePages()
})
afterAll(async () => {
  names.stop()
  await Promise.all([canary.stop(), canary80?.stop(), web.stop()])
})

beforeEach(() => connections.forget())

/** The addresses, other than `web`, that a connection was attempted to. */
const attempts = () => connections.attempts().filter((address) => address !== web.host)

/** Fetches a page, and gives up at the first attempt to connect to anything but `web`. */
async function fetchPage(url: string, resolver = names.resolver) {
  const stop = new AbortController()
  connections.onAttempt((address) => address !== web.host && stop.abort())
  const fetch = createFetch({ allowedHosts: [web.host], resolver })('app')
  const fetched = connections.observed(() => fetch(url, { type: 'html', signal: stop.signal }))
  return fetched.catch((error) => {
    if (stop.signal.aborted) return undefined
    throw error
  })
}

async function firstAttempt(url: string, resolver = names.resolver) {
  connections.forget()
  await fetchPage(url, resolver)
  return attempts()[0]
}

/**
 * The requests for paths of the URLs below. Clients of an earlier server on this port may still ask
 * for other paths, such as retries of a webhook.
 */
const requestedBy = (site: typeof canary80) =>
  site?.requested.filter((path) => /^\/(@[^/]*\/)?$|\/(direct|private)$/.test(path)) ?? []

const expectUntouched = () => {
  expect(attempts()).toEqual([])
  expect([...requestedBy(canary), ...requestedBy(canary80)]).toEqual([])
}

/** Each is this machine, its network or its cloud host. */
// biome-ignore format: a table
const ADDRESSES = [
  '127.0.0.1', '127.0.0.2', '127.1', '127.0.1', '127.255.255.254', '0', '0.0.0.0', '00', '0x0',
  '0.0', '0x7f.1', '0x7f.0.0.1', '0x7f000001', '0X7F000001',
  '2130706433', '017700000001', '0177.0.0.1', '0177.0.0.01', '0177.1', '00000177.1', '127.0.0.1.',
  '127.1.', '①②⑦.0.0.1', '１２７.０.０.１', '127。0。0。1', '%31%32%37.0.0.1',
  '10.0.0.1', '10.255.255.255', '012.0.0.1', '167772161', '0xa000001', '172.16.0.1',
  '172.31.255.255', '0xac100001', '192.168.0.1', '192.168.1.254', '3232235777', '0xc0a80101',
  '192.168.257',
  '169.254.169.254', '169.254.0.1', '2852039166', '0xa9fea9fe', '0251.0376.0251.0376',
  '169.254.43518', '169.16689662', '100.64.0.1', '100.100.100.200', '100.127.255.255',
  '168.63.129.16', '0xa83f8110',
  '192.0.0.1', '192.0.0.192', '192.0.2.1', '198.18.0.1', '198.19.255.255', '198.51.100.1',
  '203.0.113.1', '224.0.0.1', '239.255.255.250', '240.0.0.1', '255.255.255.255', '192.88.99.1',
  '0.0.0.1', '0.255.255.255',
  '[::1]', '[::]', '[0:0:0:0:0:0:0:1]', '[0000::0001]', '[::127.0.0.1]', '[::7f00:1]',
  '[::10.0.0.1]', '[::ffff:127.0.0.1]', '[::ffff:7f00:1]', '[0:0:0:0:0:ffff:7f00:1]',
  '[::FFFF:10.0.0.1]', '[::ffff:169.254.169.254]', '[::ffff:a9fe:a9fe]', '[::ffff:192.168.0.1]',
  '[::ffff:0:127.0.0.1]', '[::ffff:0:7f00:1]', '[64:ff9b::7f00:1]', '[64:ff9b::127.0.0.1]',
  '[64:ff9b::a9fe:a9fe]', '[64:ff9b:1::7f00:1]', '[2002:7f00:1::]', '[2002:a9fe:a9fe::1]',
  '[2002:c0a8:101::]', '[2001:0:7f00:1::]', '[2001::1]', '[2001:db8::1]', '[2001:10::1]',
  '[2001:20::1]',
  '[fc00::1]', '[fd00::1]', '[fd00:ec2::254]', '[fdff:ffff::1]', '[fe80::1]', '[febf::1]',
  '[fec0::1]', '[ff02::1]', '[ff0e::1]', '[100::1]', '[4000::1]', '[5f00::1]', '[3fff::1]',
  '[1::1]', '[8000::1]',
]
// biome-ignore format: a table
const HOSTS = [
  ...ADDRESSES,
  'localhost', 'LOCALHOST', 'localhost.', 'localhost.localdomain', 'ip6-localhost', 'a.localhost',
  'metadata.google.internal', 'metadata', 'kubernetes.default.svc', 'intranet', 'printer.local',
  'private.test', 'PRIVATE.test', 'private.test.', 'loopback.test', 'metadata.test', 'mixed.test',
  'mixed-last.test', 'empty.test', 'unknown.test', 'loopback-six.test', 'mapped-six.test',
  'mixed-six.test', 'mixed-last-six.test',
]
// biome-ignore format: a table
const URLS = [
  ...HOSTS.map((host) => `http://${host}/`),
  'https://127.0.0.1/', 'https://[::1]/', 'https://loopback.test/', 'http://user@93.184.216.34/',
  'http://user:password@93.184.216.34/', 'http://93.184.216.34@127.0.0.1/',
  'http://127.0.0.1@loopback.test/', 'http://:@127.0.0.1/', 'http://:password@93.184.216.34/',
  'http://93.184.216.34:8080/', 'http://93.184.216.34:22/', 'https://93.184.216.34:80/',
  'http://93.184.216.34:443/', 'http://93.184.216.34:0/', 'http://127.0.0.1:CANARY/',
  'http://localhost:CANARY/', 'http://[::ffff:127.0.0.1]:CANARY/', 'http://loopback.test:CANARY/',
  'ftp://127.0.0.1/', 'file:///etc/passwd', 'gopher://127.0.0.1:CANARY/', 'ws://127.0.0.1:CANARY/',
  'data:text/html,<title>x</title>', 'javascript:alert(1)', 'blob:http://127.0.0.1/x',
  'about:blank', 'dict://127.0.0.1:CANARY/',
  'http:\\\\127.0.0.1:CANARY\\', 'http:/127.0.0.1:CANARY/', 'http:127.0.0.1:CANARY/',
  '//127.0.0.1:CANARY/', 'http://127.0.0.1:CANARY#@93.184.216.34/',
  'http://127.0.0.1:CANARY\\@93.184.216.34/', 'http://127.0.0.1\t:CANARY/', 'http://0x7f.1:CANARY/',
  'http://[::1%25lo]/',
  'http://', 'http:///', 'http://%00/', 'http://../', 'http://[/', 'not a url', '',
]

const addressed = (url: string) => url.replace('CANARY', new URL(canary.url).port)

test('the table has at least 120 hostile URLs', () =>
  expect(new Set(URLS).size).toBeGreaterThanOrEqual(120))

// 93.184.216.34 is public: in the URLs above only their other parts keep it from being fetched.
test.each(URLS)('nothing is fetched for %s', async (url) => {
  expect(await fetchPage(addressed(url))).toBeUndefined()
  expectUntouched()
})

test.each(HOSTS)('a redirect to %s is not followed', async (host) => {
  web.pages['/leave'] = (response) =>
    response.writeHead(302, { location: Buffer.from(`http://${host}/`).toString('latin1') }).end()
  expect(await fetchPage(`${web.url}/leave`)).toBeUndefined()
  expectUntouched()
})

test('a redirect of any status to another port of an allowed host is not followed', async () => {
  for (const status of [301, 302, 303, 307, 308]) {
    web.pages['/leave'] = (response) =>
      response.writeHead(status, { location: `${canary.url}/` }).end()
    expect(await fetchPage(`${web.url}/leave`)).toBeUndefined()
  }
  expectUntouched()
})

test('an allowed host gets no credentials of a URL', async () => {
  const { port } = new URL(web.url)
  expect(await fetchPage(`http://user:password@127.0.0.1:${port}/private`)).toBeUndefined()
  expect(await fetchPage(`http://user@127.0.0.1:${port}/private`)).toBeUndefined()
  expect(web.requestsFor('/private')).toBe(0)
})

test('every URL of the table has a path by which its request is recognised', () => {
  const toCanary = URLS.filter((url) => url.includes('CANARY')).map(addressed)
  const paths = toCanary.filter((url) => URL.canParse(url)).map((url) => new URL(url).pathname)
  expect(paths.length).toBeGreaterThan(10)
  expect(requestedBy({ ...canary, requested: paths })).toEqual(paths)
})

test('no address of the table is public, in any spelling', () => {
  const hosts = ADDRESSES.map((address) => hostOf(new URL(`http://${address}/`)))
  expect(hosts.filter((host) => !isIpAddress(host))).toEqual([])
  expect(hosts.filter(isPublicAddress)).toEqual([])
  const spelled = ADDRESSES.map((address) => address.replace(/^\[(.*)\]$/, '$1'))
  expect(spelled.filter(isPublicAddress)).toEqual([])
})

test('only public addresses are connected to, as the observed connections show', async () => {
  expect(await firstAttempt('http://93.184.216.34/')).toBe('93.184.216.34:80')
  expect(await firstAttempt('https://93.184.216.34/')).toBe('93.184.216.34:443')
  expect(await firstAttempt('http://public.test/')).toBe('93.184.216.34:80')
  expect(await firstAttempt('http://six.test/')).toBe('2606:4700:4700::1111:80')
  expect(await firstAttempt('http://mixed-last.test/')).toBeUndefined()
})

test('a name is resolved once, and the connection goes to the checked address', async () => {
  expect(await firstAttempt('http://rebinding.test/')).toBe('93.184.216.34:80')
  expect(names.queried.filter((name) => name === 'rebinding.test').length).toBeLessThanOrEqual(2)
  expect(rebinds).toBe(1)
})

test('a name that the system resolves to this machine leads to the checked address', async () => {
  const rebound = await serveNames({ localhost: ['93.184.216.34'] })
  onTestFinished(() => void rebound.stop())
  expect(await firstAttempt('http://localhost/', rebound.resolver)).toBe('93.184.216.34:80')
  expect(await firstAttempt('https://localhost/', rebound.resolver)).toBe('93.184.216.34:443')
  expect(requestedBy(canary80)).toEqual([])
})

test('a server on port 80 of this machine received no request', ({ skip }) => {
  if (canary80) return expect(requestedBy(canary80)).toEqual([])
  const isRootInCi = process.env.CI !== undefined && process.getuid?.() === 0
  if (isRootInCi) throw new Error('port 80 is not available: nothing listens where requests go')
  return skip('port 80 is not available here: only attempts to connect were observed')
})

test('three redirects are followed, the fourth is not', async () => {
  for (const [hop, status] of [308, 307, 301, 303].entries())
    web.pages[`/hop${hop + 1}`] = (response) =>
      response.writeHead(status, { location: `/hop${hop}` }).end()
  web.pages['/hop0'] = page('<title>There</title>')
  expect((await fetchPage(`${web.url}/hop3`))?.url.pathname).toBe('/hop0')
  expect(await fetchPage(`${web.url}/hop4`)).toBeUndefined()
  web.pages['/loop'] = (response) => response.writeHead(302, { location: '/loop' }).end()
  expect(await fetchPage(`${web.url}/loop`)).toBeUndefined()
  expect(web.requestsFor('/loop')).toBe(4)
})

test('isPublicAddress accepts addresses of the public internet', () => {
  const addresses = [
    '93.184.216.34',
    '8.8.8.8',
    '1.1.1.1',
    '172.15.0.1',
    '172.32.0.1',
    '100.128.0.1',
    '2606:4700:4700::1111',
    '2a00:1450:4001:800::200e',
  ]
  expect(addresses.filter((address) => !isPublicAddress(address))).toEqual([])
  expect(isPublicAddress('nonsense')).toBe(false)
})

test('proxy variables of the environment are ignored', async () => {
  onTestFinished(() => void vi.unstubAllEnvs())
  for (const name of ['HTTP_PROXY', 'http_proxy', 'HTTPS_PROXY', 'ALL_PROXY'])
    vi.stubEnv(name, canary.url)
  vi.stubEnv('NODE_USE_ENV_PROXY', '1')
  web.pages['/direct'] = page('<title>Direct</title>')
  expect((await fetchPage(`${web.url}/direct`))?.body.toString()).toContain('Direct')
  expectUntouched()
})
