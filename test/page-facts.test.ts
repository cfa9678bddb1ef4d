import { withTimeout } from '@parley/server/core/with-timeout'
import { readPage, toSingleLine } from '@parley/server/jobs/previews/page'
import { expect, test } from 'vitest'

const factsOf = (body: string | Buffer, { contentType = 'text/html', path = '/a/b' } = {}) =>
  readPage({
    url: new URL(path, 'https://www.example.com'),
    contentType,
    body: typeof body === 'string' ? Buffer.from(body) : body,
  })

test('the charset of the header counts more than that of the page', async () => {
  const body = Buffer.from('<meta charset="utf-8"><title>Grüße</title>', 'latin1')
  const { title } = await factsOf(body, { contentType: 'text/html; charset=iso-8859-1' })
  expect(title).toBe('Grüße')
})

test('a byte order mark counts more than any charset', async () => {
  const body = Buffer.from('\ufeff<meta charset="latin1"><title>Grüße</title>', 'utf16le')
  expect(await factsOf(body, { contentType: 'text/html; charset=utf-8' })).toMatchObject({
    title: 'Grüße',
  })
  expect(await factsOf(Buffer.from(body).swap16())).toMatchObject({ title: 'Grüße' })
  const inUtf8 = Buffer.from('\ufeff<meta charset="latin1"><title>Grüße</title>')
  const { title } = await factsOf(inUtf8, { contentType: 'text/html; charset=iso-8859-1' })
  expect(title).toBe('Grüße')
})

test('a page that is cut within a character is read as UTF-8 up to there', async () => {
  const cut = Buffer.from('<title>Grüße</title>é').subarray(0, -1)
  expect((await factsOf(cut)).title).toBe('Grüße')
})

test('the title of an inline SVG is not taken for the title of the page', async () => {
  const drawing = '<body><div><a><svg><title>Logo</title></svg></a></div></body>'
  expect((await factsOf(`<html>${drawing}</html>`)).title).toBeNull()
  expect((await factsOf(`<html>${drawing}<title>Page</title></html>`)).title).toBe('Page')
  expect((await factsOf('<html><head><title>One</title><title>Two</title>')).title).toBe('One')
})

test('nothing is read below a depth that no real page has', async () => {
  const deep = (depth: number) =>
    `${'<b>'.repeat(depth)}${' '.repeat(20_000)}<meta property="og:title" content="Deep">`
  expect((await factsOf(deep(400))).title).toBe('Deep')
  expect((await factsOf(deep(600))).title).toBeNull()
})

test('the URL of an image is relative to the page, and no longer than a URL may be', async () => {
  const imageOf = async (address: string) =>
    (await factsOf(`<meta property="og:image" content="${address}">`)).image
  expect(await imageOf(' c.png ')).toBe('https://www.example.com/a/c.png')
  const longest = `https://example.com/${'x'.repeat(2_048 - 20)}`
  expect(await imageOf(longest)).toBe(longest)
  expect(await imageOf(`${longest}x`)).toBeNull()
})

test.each([
  '<meta property="og:image" content="/c.png">',
  '<meta property="og:image:url" content="/c.png">',
  '<meta property="og:image:secure_url" content="/c.png">',
  '<meta name="twitter:image" content="/c.png">',
  '<meta name="twitter:image:src" content="/c.png">',
  '<link rel="image_src" href="/c.png">',
])('a page may name its image by %s', async (tag) => {
  expect((await factsOf(tag)).image).toBe('https://www.example.com/c.png')
})

test('the name of a site comes from its page, else from its host', async () => {
  expect((await factsOf('<title>x</title>')).siteName).toBe('example.com')
  const named = '<meta name="application-name" content="App">'
  expect((await factsOf(named)).siteName).toBe('App')
  const both = `${named}<meta property="og:site_name" content="Site">`
  expect((await factsOf(both)).siteName).toBe('Site')
})

test('a line is cut between characters, and has no half ones', () => {
  expect(toSingleLine(' a\n\tb\u2028c ', 10)).toBe('a b c')
  expect(toSingleLine('👍👍👍', 2)).toBe('👍👍')
  expect(toSingleLine('a\ud83d', 10)).toBe('a\ufffd')
  expect(toSingleLine('\u0000', 10)).toBeNull()
  expect(toSingleLine(undefined, 10)).toBeNull()
})

test('work under a time limit ends with its time or with the signal it was given', async () => {
  const whenAborted = (signal: AbortSignal) =>
    signal.aborted
      ? Promise.resolve('aborted before')
      : new Promise<string>((resolve) => signal.addEventListener('abort', () => resolve('aborted')))
  expect(await withTimeout(1, undefined, whenAborted)).toBe('aborted')
  expect(await withTimeout(60_000, AbortSignal.abort(), whenAborted)).toBe('aborted before')
  const controller = new AbortController()
  const running = withTimeout(60_000, controller.signal, whenAborted)
  controller.abort()
  expect(await running).toBe('aborted')
})
