import { limits } from '@parley/contract'
import { createFetch, type Fetch } from '@parley/server/jobs/previews/fetch'
import { findPreview } from '@parley/server/jobs/previews/find-preview'
import { expect, onTestFinished, test } from 'vitest'
import { servePages } from './support/pages.ts'

/** A fake video site: it answers every URL with this, or not at all. */
const fakeSite = (answer?: string) => {
  const requested: string[] = []
  const fetch: Fetch = async (address) => {
    requested.push(address)
    return answer === undefined
      ? undefined
      : { url: new URL(address), contentType: 'application/json', body: Buffer.from(answer) }
  }
  return { requested, fetch }
}
const find = (url: string, { fetch } = fakeSite()) =>
  findPreview(url, { fetch, signal: new AbortController().signal })

const ID = 'dQw4w9WgXcQ'
const WATCH_URL = encodeURIComponent(`https://www.youtube.com/watch?v=${ID}`)
const O_EMBED_PATH = `/oembed?format=json&url=${WATCH_URL}`
test.each([
  `https://www.youtube.com/watch?v=${ID}`,
  `https://youtube.com/watch?list=PL1&v=${ID}&t=42s`,
  `http://m.youtube.com/watch?v=${ID}#t=1`,
  `https://music.youtube.com/watch?v=${ID}`,
  `https://youtu.be/${ID}?si=abc`,
  `https://www.youtube.com/shorts/${ID}`,
  `https://www.youtube.com/live/${ID}?feature=share`,
  `https://www.youtube.com/embed/${ID}`,
  `https://www.youtube.com/v/${ID}`,
  `https://www.youtube-nocookie.com/embed/${ID}`,
  `https://youtube-nocookie.com/embed/${ID}`,
])('a YouTube URL has a video preview: %s', async (url) => {
  expect((await find(url)).preview).toMatchObject({
    url,
    type: 'video',
    siteName: 'YouTube',
    videoId: ID,
    embedUrl: `https://www.youtube.com/embed/${ID}`,
  })
})

test.each([
  ['https://vimeo.com/76979871', 'https://player.vimeo.com/video/76979871'],
  ['https://www.vimeo.com/76979871/', 'https://player.vimeo.com/video/76979871'],
  ['https://vimeo.com/channels/staffpicks/76979871', 'https://player.vimeo.com/video/76979871'],
  [
    'https://vimeo.com/groups/shortfilms/videos/76979871',
    'https://player.vimeo.com/video/76979871',
  ],
  ['https://player.vimeo.com/video/76979871', 'https://player.vimeo.com/video/76979871'],
  ['https://vimeo.com/76979871/abcdef0123', 'https://player.vimeo.com/video/76979871?h=abcdef0123'],
  [
    'https://player.vimeo.com/video/76979871?h=abcdef0123',
    'https://player.vimeo.com/video/76979871?h=abcdef0123',
  ],
])('a Vimeo URL has a video preview: %s', async (url, embedUrl) => {
  expect((await find(url)).preview).toMatchObject({
    url,
    type: 'video',
    siteName: 'Vimeo',
    videoId: '76979871',
    embedUrl,
  })
})

test.each([
  'https://www.youtube.com/',
  'https://www.youtube.com/@channel',
  'https://www.youtube.com/watch?v=short',
  `https://www.youtube.com.example.com/watch?v=${ID}`,
  `https://notyoutu.be/${ID}`,
  'https://vimeo.com/about',
  'https://vimeo.com/76979871x',
])('a URL that is no video is fetched as a page: %s', async (url) => {
  const site = fakeSite()
  expect((await find(url, site)).preview).toBeNull()
  expect(site.requested).toEqual([url])
})

test('a video preview has the title, thumbnail and author name that its site gives', async () => {
  const site = fakeSite(
    JSON.stringify({
      title: 'A <b>song</b>',
      author_name: 'Rick',
      thumbnail_url: 'https://i.example.com/1.jpg',
      html: '<script>',
    }),
  )
  const { preview, isComplete } = await find(`https://youtu.be/${ID}`, site)
  expect(preview).toMatchObject({
    title: 'A <b>song</b>',
    authorName: 'Rick',
    image: 'https://i.example.com/1.jpg',
  })
  expect(isComplete).toBe(true)
  expect(site.requested).toEqual([`https://www.youtube.com${O_EMBED_PATH}`])
})

test('a video whose site names no thumbnail keeps the one of its URL', async () => {
  const site = fakeSite(JSON.stringify({ title: 'A song' }))
  expect((await find(`https://youtu.be/${ID}`, site)).preview).toMatchObject({
    title: 'A song',
    image: `https://i.ytimg.com/vi/${ID}/hqdefault.jpg`,
  })
})

test('an invalid answer of a video site leaves the preview incomplete', async () => {
  for (const invalid of [
    '',
    '[]',
    '{"title":1}',
    '{"title":"x","thumbnail_url":"javascript:alert(1)"}',
    'null',
  ]) {
    const { preview, isComplete } = await find('https://vimeo.com/1', fakeSite(invalid))
    expect(preview).toMatchObject({ title: 'Vimeo video', image: null, videoId: '1' })
    expect(isComplete).toBe(false)
  }
})

/** Sends the requests for video sites to a local server, through the real fetch. */
async function serveVideoSite() {
  const web = await servePages()
  onTestFinished(async () => void (await web.stop()))
  const guarded = createFetch({ allowedHosts: [web.host] })('app')
  const fetch: Fetch = (address, options) =>
    guarded(address.replace(/^https:\/\/(www\.youtube|vimeo)\.com/, web.url), options)
  return { web, fetch }
}
const oEmbed = JSON.stringify({
  title: 'Never',
  author_name: 'Rick',
  thumbnail_url: 'https://i.example.com/1.jpg',
})
const asJson = { 'content-type': 'application/json; charset=utf-8' }

test('video sites are fetched over HTTP as JSON', async () => {
  const { web, fetch } = await serveVideoSite()
  const accepted: unknown[] = []
  web.pages[O_EMBED_PATH] = (response, { headers }) => {
    accepted.push(headers.accept)
    response.writeHead(200, asJson).end(oEmbed)
  }
  web.pages[`/api/oembed.json?url=${encodeURIComponent('https://vimeo.com/1')}`] = (response) =>
    response.writeHead(200, asJson).end(oEmbed)
  for (const url of [`https://youtu.be/${ID}`, 'https://vimeo.com/1']) {
    const { preview, isComplete } = await findPreview(url, {
      fetch,
      signal: new AbortController().signal,
    })
    expect(preview).toMatchObject({
      title: 'Never',
      authorName: 'Rick',
      image: 'https://i.example.com/1.jpg',
    })
    expect(isComplete).toBe(true)
  }
  expect(accepted).toEqual(['application/json'])
})

test.each([
  ['refuses', 404, asJson, oEmbed],
  ['fails', 500, asJson, oEmbed],
  ['answers with a page', 200, { 'content-type': 'text/html' }, '<title>Consent</title>'],
  ['compresses its answer', 200, { ...asJson, 'content-encoding': 'gzip' }, oEmbed],
  ['never ends', 200, asJson, `${oEmbed.slice(0, -1)},"html":"${'x'.repeat(600_000)}"}`],
  ['redirects to a private address', 302, { location: 'http://169.254.169.254/' }, ''],
])('a video gets a preview from its URL when its site %s', async (_, status, headers, body) => {
  const { web, fetch } = await serveVideoSite()
  web.pages[O_EMBED_PATH] = (response) => response.writeHead(status, headers).end(body)
  const { preview, isComplete } = await findPreview(`https://youtu.be/${ID}`, {
    fetch,
    signal: new AbortController().signal,
  })
  expect(preview).toMatchObject({
    title: 'YouTube video',
    videoId: ID,
    image: `https://i.ytimg.com/vi/${ID}/hqdefault.jpg`,
  })
  expect(isComplete).toBe(false)
  expect(web.requested).toEqual([O_EMBED_PATH])
})

test('a long title of a video is cut, and the rest of its preview is kept', async () => {
  const thumbnail = 'https://i.example.com/1.jpg'
  const facts = { title: 'x'.repeat(4_000), author_name: 'Rick', thumbnail_url: thumbnail }
  const found = await find(`https://youtu.be/${ID}`, fakeSite(JSON.stringify(facts)))
  expect(found).toMatchObject({
    preview: {
      title: 'x'.repeat(limits.linkPreview.titleLength),
      authorName: 'Rick',
      image: thumbnail,
    },
    isComplete: true,
  })
})
