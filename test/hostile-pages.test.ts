import { gzipSync } from 'node:zlib'
import { expect, onTestFinished, test, vi } from 'vitest'
import { html, useFoundPreviews } from './support/found-previews.ts'
import { page } from './support/pages.ts'
import { until } from './support/until.ts'
import { workedMs } from './support/worked.ts'

// The pages have as much time as with any server.
const { web, lookAt, find } = useFoundPreviews(({ host }) => ({ allowedHosts: [host] }))

/** Waits by turns of the event loop, since the timers of the test that needs it are fake. */
const untilRequested = async (path: string, count: number) => {
  const end = performance.now() + 60_000
  while (web().requestsFor(path) < count && performance.now() < end) await new Promise(setImmediate)
  expect(web().requestsFor(path)).toBe(count)
}
/** The longest time for which `work` blocked the event loop. */
async function longestPause(work: () => Promise<unknown>) {
  let longest = 0
  let last = { at: performance.now(), worked: workedMs() }
  const tick = () => {
    const now = { at: performance.now(), worked: workedMs() }
    // Time that other programs took does not count, nor work that threads did side by side.
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
  web().pages['/drip'] = (response) => {
    response.writeHead(200, html)
    const timer = setInterval(() => response.write('<b>'), 50)
    response.on('close', () => clearInterval(timer))
  }
  web().pages['/stall'] = (response) => void response.writeHead(200, html).write('<title>Half')
  web().pages['/silent'] = () => {}
  web().pages['/header'] = ({ socket }) => {
    socket?.write('HTTP/1.1 200 OK\r\n')
    const timer = setInterval(() => socket?.write('X-A: b\r\n'), 100)
    socket?.on('close', () => clearInterval(timer))
    socket?.on('error', () => {})
  }
  web().pages['/informal'] = (response) => {
    const timer = setInterval(() => response.writeProcessing(), 20)
    response.on('close', () => clearInterval(timer))
  }
  web().pages['/redirect'] = (response) =>
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
  web().pages['/endless'] = (response) => {
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

test('the connection of a response that is no page, such as a stream, is closed', async () => {
  let isClosed = false
  web().pages['/radio'] = (response) => {
    response.writeHead(200, { 'content-type': 'video/mp4' }).write('music')
    response.on('close', () => (isClosed = true))
  }
  expect((await lookAt('/radio')).preview).toBeNull()
  await until(() => isClosed)
})

test('a page in thousands of tiny pieces is given up, one in small pieces is read', async () => {
  const inPieces = (path: string, bytes: number) => {
    web().pages[path] = ({ socket }) => {
      const text = `${page('<title>In pieces</title>')}${' '.repeat(bytes * 10_000)}`
      const pieces = text.match(new RegExp(`[^]{1,${bytes}}`, 'g')) ?? []
      const chunks = pieces.map((piece) => `${piece.length.toString(16)}\r\n${piece}\r\n`)
      const head = 'HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked'
      socket?.on('error', () => {}).end(`${head}\r\n\r\n${chunks.join('')}0\r\n\r\n`)
    }
    return lookAt(path)
  }
  expect((await inPieces('/tiny', 1)).preview).toBeNull()
  expect((await inPieces('/small', 20)).preview?.title).toBe('In pieces')
})

test('a page that is announced thousands of times is given up', async () => {
  const announced = (path: string, times: number) => {
    web().pages[path] = ({ socket }) => {
      const content = page('<title>At last</title>')
      const head = `HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: ${content.length}`
      const hints = 'HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(times)
      socket?.on('error', () => {}).end(`${hints}${head}\r\n\r\n${content}`)
    }
    return lookAt(path)
  }
  expect((await announced('/often', 50_000)).preview).toBeNull()
  expect((await announced('/twice', 2)).preview?.title).toBe('At last')
})

test('a page is asked for as it is, and one that is compressed is not decompressed', async () => {
  let asked: string | undefined
  web().pages['/asked'] = (response, { headers }) => {
    asked = String(headers['accept-encoding'])
    response.writeHead(200, html).end(page('<title>As it is</title>'))
  }
  expect((await lookAt('/asked')).preview?.title).toBe('As it is')
  expect(asked).toBe('identity')
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
    web().pages['/status'] = (response) =>
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
/** The longest that a page may keep all others from being served. */
const MOST_MS = 400
test.each(Object.entries(monsters))(
  'a page of %s does not block the event loop',
  async (name, content) => {
    // The least of three: a page that blocks does so each time, a machine that stalls does not.
    let least = Number.POSITIVE_INFINITY
    for (let run = 1; run <= 3 && least >= MOST_MS; run++) {
      const path = `/${name.replaceAll(' ', '-')}-${run}`
      least = Math.min(least, await longestPause(() => find(path, content)))
    }
    expect(least).toBeLessThan(MOST_MS)
  },
)
