import { gzipSync } from 'node:zlib'
import { createFetch } from '@parley/server/jobs/previews/fetch'
import { findPreview } from '@parley/server/jobs/previews/find-preview'
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import { page, servePages } from './support/pages.ts'
import { workedMs } from './support/worked.ts'

let web: Awaited<ReturnType<typeof servePages>>
beforeAll(async () => {
  web = await servePages()
})
afterAll(() => web.stop())

const html = { 'content-type': 'text/html' }
const fetch = () => createFetch({ allowedHosts: [web.host] })
const lookAt = (path: string) =>
  findPreview(`${web.url}${path}`, { fetch: fetch(), signal: AbortSignal.timeout(30_000) })
const find = async (
  path: string,
  content: string | Buffer,
  headers: Record<string, string> = html,
) => {
  web.pages[path] = (response) => response.writeHead(200, headers).end(content)
  return (await lookAt(path)).preview
}
/** Waits by turns of the event loop, since the timers of the test that needs it are fake. */
const untilRequested = async (path: string, count: number) => {
  const end = performance.now() + 60_000
  while (web.requestsFor(path) < count && performance.now() < end) await new Promise(setImmediate)
  expect(web.requestsFor(path)).toBe(count)
}
/** The longest time for which `work` blocked the event loop. */
async function longestPause(work: () => Promise<unknown>) {
  let longest = 0
  let last = { at: performance.now(), worked: workedMs() }
  const tick = () => {
    const now = { at: performance.now(), worked: workedMs() }
    // Neither time that other programs took counts, nor work that threads did side by side.
    longest = Math.max(longest, Math.min(now.at - last.at, now.worked - last.worked))
    last = now
  }
  const timer = setInterval(tick, 1)
  await work()
  clearInterval(timer)
  tick()
  return longest
}

test('slow, stalled, silent and redirecting pages are given up in eight seconds', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  web.pages['/drip'] = (response) => {
    response.writeHead(200, html)
    const timer = setInterval(() => response.write('<b>'), 50)
    response.on('close', () => clearInterval(timer))
  }
  web.pages['/stall'] = (response) => void response.writeHead(200, html).write('<title>Half')
  web.pages['/silent'] = () => {}
  web.pages['/header'] = ({ socket }) => {
    socket?.write('HTTP/1.1 200 OK\r\n')
    const timer = setInterval(() => socket?.write('X-A: b\r\n'), 100)
    socket?.on('close', () => clearInterval(timer))
    socket?.on('error', () => {})
  }
  web.pages['/informal'] = (response) => {
    const timer = setInterval(() => response.writeProcessing(), 20)
    response.on('close', () => clearInterval(timer))
  }
  web.pages['/redirect'] = (response) =>
    void setTimeout(() => response.writeHead(302, { location: '/redirect' }).end(), 3_000)
  const paths = ['/drip', '/stall', '/silent', '/header', '/informal', '/redirect']
  let givenUp = 0
  const looks = paths.map((path) =>
    lookAt(path).then(({ preview }) => {
      givenUp += 1
      return preview
    }),
  )
  for (const path of paths) await untilRequested(path, 1)
  for (const requests of [2, 3]) {
    vi.advanceTimersByTime(3_000)
    await untilRequested('/redirect', requests)
  }
  vi.advanceTimersByTime(1_900)
  expect((await find('/quick', '<title>Quick</title>'))?.title).toBe('Quick')
  expect(givenUp).toBe(0)
  vi.advanceTimersByTime(100)
  expect(await Promise.all(looks)).toEqual(Array(paths.length).fill(null))
})

test('an endless page is read up to half a megabyte, and gets its preview from that', async () => {
  let sent = 0
  web.pages['/endless'] = (response) => {
    response.writeHead(200, html).write('<title>Endless</title>')
    const more = () => {
      sent += 65_536
      if (!response.destroyed && sent < 1e9)
        response.write('x'.repeat(65_536), () => setImmediate(more))
    }
    more()
  }
  expect((await lookAt('/endless')).preview?.title).toBe('Endless')
  expect(sent).toBeLessThan(20e6)
})

test('a page that is compressed, unasked, is not decompressed', async () => {
  const bomb = gzipSync(Buffer.alloc(50e6))
  expect(await find('/bomb', bomb, { ...html, 'content-encoding': 'gzip' })).toBeNull()
  const brotli = { ...html, 'content-encoding': 'br' }
  expect(await find('/brotli', page('<title>Not really</title>'), brotli)).toBeNull()
  expect(await find('/twice', bomb, { ...html, 'content-encoding': 'identity, gzip' })).toBeNull()
})

test('other content types and failed responses have no preview', async () => {
  const content = '<title>No</title>'
  for (const type of [
    'image/svg+xml',
    'application/pdf',
    'text/plain',
    'application/json',
    'text/htmlx',
    'video/mp4',
  ])
    expect([type, await find('/other', content, { 'content-type': type })]).toEqual([type, null])
  expect(await find('/untyped', content, {})).toBeNull()
  for (const status of [204, 400, 403, 404, 500, 304]) {
    web.pages['/status'] = (response) =>
      response.writeHead(status, html).end(status === 204 || status === 304 ? undefined : content)
    expect((await lookAt('/status')).preview).toBeNull()
  }
  expect(
    (await find('/xhtml', content, { 'content-type': 'application/xhtml+xml; charset=utf-8' }))
      ?.title,
  ).toBe('No')
  expect(await find('/empty', '')).toBeNull()
  expect(await find('/blank', page('<title>  </title>'))).toBeNull()
})

const numbers = (length: number) => Array.from({ length }, (_, index) => index)
const HALF_MEGABYTE = 512 * 1024
const monsters = {
  'deeply nested': '<div>'.repeat(HALF_MEGABYTE / 5),
  'nested and wrongly closed': '<div>'.repeat(50_000) + '</p>'.repeat(60_000),
  'nested formatting': '<b><p>'.repeat(80_000),
  'nested lists': '<ul><li>'.repeat(60_000),
  'all attributes': `<a ${'x '.repeat(250_000)}`,
  'one attribute': `<meta content="${'x'.repeat(HALF_MEGABYTE)}" property="og:title">`,
  'a million entities': '&amp;'.repeat(100_000),
  'all opening': '<'.repeat(HALF_MEGABYTE),
  comments: '<!--'.repeat(HALF_MEGABYTE / 4),
  'an endless title': `<title>${'x &'.repeat(HALF_MEGABYTE / 3)}`,
  'many metas': '<meta property="og:title" content="x">'.repeat(13_000),
  'different metas': numbers(13_000)
    .map((n) => `<meta property="og:${n}" content="x">`)
    .join(''),
  spaces: `<title>${' '.repeat(HALF_MEGABYTE)}`,
  scripts: '<script>'.repeat(HALF_MEGABYTE / 8),
  cdata: '<![CDATA['.repeat(HALF_MEGABYTE / 9),
}
test.each(Object.entries(monsters))(
  'a page of %s does not block the event loop',
  async (name, content) => {
    const pause = await longestPause(() => find(`/${name.replaceAll(' ', '-')}`, content))
    expect(pause).toBeLessThan(400)
  },
)

test('page facts come from Open Graph, else from Twitter tags, else from plain HTML', async () => {
  const facts = await find(
    '/fallbacks',
    page(`
      <title>Plain</title>
      <meta name="twitter:title" content="Twitter">
      <meta name="description" content="Described">
      <meta name="twitter:image" content="pic.png">`),
  )
  expect(facts).toMatchObject({
    title: 'Twitter',
    description: 'Described',
    image: `${web.url}/pic.png`,
    siteName: '127.0.0.1',
    type: 'website',
  })
  expect(await find('/plain', page('<title>Only &lt;this&gt; &amp; that</title>'))).toMatchObject({
    title: 'Only <this> & that',
    description: null,
    image: null,
  })
  expect(
    await find(
      '/named',
      page(
        '<meta name="og:title" content="By name"><meta property="og:type" content="video.movie">',
      ),
    ),
  ).toMatchObject({
    title: 'By name',
    type: 'video',
  })
  expect(
    await find(
      '/first',
      page(`
        <meta property="og:title" content="">
        <meta property="og:title" content="First">
        <meta property="og:title" content="Second">`),
    ),
  ).toMatchObject({ title: 'First' })
  expect(
    await find('/drawn', `<svg><title>Logo</title></svg>${page('<title>Page</title>')}`),
  ).toMatchObject({ title: expect.any(String) })
  expect(
    await find('/upper', '<HTML><HEAD><TITLE>Upper</TITLE><META PROPERTY="OG:TITLE" CONTENT="Og">'),
  ).toMatchObject({ title: 'Og' })
})

test('an image URL is made absolute, and dropped unless it is http(s)', async () => {
  const imageOf = async (address: string) =>
    (
      await find(
        '/dir/image',
        page(`<title>x</title><meta property="og:image" content="${address}">`),
      )
    )?.image
  expect(await imageOf('a.png')).toBe(`${web.url}/dir/a.png`)
  expect(await imageOf('../a.png?b=c&amp;d')).toBe(`${web.url}/a.png?b=c&d`)
  expect(await imageOf('//cdn.example.com/a.png')).toBe('http://cdn.example.com/a.png')
  expect(await imageOf('https://cdn.example.com/ä.png')).toBe('https://cdn.example.com/%C3%A4.png')
  for (const bad of [
    'javascript:alert(1)',
    'data:image/png;base64,AA',
    'http://',
    `https://example.com/${'x'.repeat(3_000)}`,
  ])
    expect([bad, await imageOf(bad)]).toEqual([bad, null])
})

test.each([
  [
    'by the header',
    Buffer.from(page('<title>Grüße</title>'), 'latin1'),
    { 'content-type': 'text/html; charset=ISO-8859-1' },
    'Grüße',
  ],
  [
    'by meta charset',
    Buffer.from(page('<meta charset="windows-1252"><title>Grüße</title>'), 'latin1'),
    html,
    'Grüße',
  ],
  [
    'by meta http-equiv',
    Buffer.concat([
      Buffer.from('<meta http-equiv="Content-Type" content="text/html; charset=Shift_JIS"><title>'),
      Buffer.from([0x93, 0xfa, 0x96, 0x7b]),
      Buffer.from('</title>'),
    ]),
    html,
    '日本',
  ],
  [
    'windows-1251',
    Buffer.concat([
      Buffer.from('<meta charset=windows-1251><title>'),
      Buffer.from([0xcf, 0xf0, 0xe8, 0xe2, 0xe5, 0xf2]),
      Buffer.from('</title>'),
    ]),
    html,
    'Привет',
  ],
  [
    'gbk',
    Buffer.concat([
      Buffer.from('<meta charset=gbk><title>'),
      Buffer.from([0xc4, 0xe3, 0xba, 0xc3]),
      Buffer.from('</title>'),
    ]),
    html,
    '你好',
  ],
  ['utf-8 by default', Buffer.from(page('<title>Grüße 👋</title>')), html, 'Grüße 👋'],
  ['windows-1252 if not utf-8', Buffer.from(page('<title>Grüße</title>'), 'latin1'), html, 'Grüße'],
  [
    'utf-16 by byte order mark',
    Buffer.from(`\ufeff${page('<title>Grüße</title>')}`, 'utf16le'),
    html,
    'Grüße',
  ],
  [
    'an unknown charset as utf-8',
    Buffer.from(page('<meta charset="klingon"><title>Grüße</title>')),
    html,
    'Grüße',
  ],
  [
    'without control characters',
    Buffer.from(page('<title>a\u0000b\u0007c\u2028d</title>')),
    html,
    /^a\S? ?b c d$/,
  ],
])('a page is decoded: %s', async (_, content, headers, title) => {
  const found = (await find('/charset', content, headers))?.title
  if (typeof title === 'string') expect(found).toBe(title)
  else expect(found).toMatch(title)
})

test('the texts of a preview have bounded lengths', async () => {
  const long = '👍'.repeat(2_000)
  const preview = await find(
    '/long',
    page(`
      <meta property="og:title" content="${long}">
      <meta property="og:description" content="${long}">
      <meta property="og:site_name" content="${long}">`),
  )
  const lengthOf = (text: string | null | undefined) => [...(text ?? '')].length
  expect(lengthOf(preview?.title)).toBe(300)
  expect(lengthOf(preview?.description)).toBe(1_000)
  expect(lengthOf(preview?.siteName)).toBe(100)
})
