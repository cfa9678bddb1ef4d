import { createFetch, type Fetch } from '@parley/server/jobs/previews/fetch'
import { findPreview } from '@parley/server/jobs/previews/find-preview'
import { expect, onTestFinished, test } from 'vitest'
import { servePages } from './support/pages.ts'

/** The video sites, which are not to be reached from here: they answer this, or nothing. */
const site = (answer?: string) => {
  const asked: string[] = []
  const fetch: Fetch = async (address) => {
    asked.push(address)
    return answer === undefined
      ? undefined
      : { url: new URL(address), contentType: 'application/json', body: Buffer.from(answer) }
  }
  return { asked, fetch }
}
const find = (url: string, { fetch } = site()) =>
  findPreview(url, { fetch, signal: new AbortController().signal })

const ID = 'dQw4w9WgXcQ'
test.each([
  `https://www.youtube.com/watch?v=${ID}`,
  `https://youtube.com/watch?list=PL1&v=${ID}&t=42s`,
  `http://m.youtube.com/watch?v=${ID}#t=1`,
  `https://music.youtube.com/watch?v=${ID}`,
  `https://youtu.be/${ID}?si=abc`,
  `https://www.youtube.com/shorts/${ID}`,
  `https://www.youtube.com/live/${ID}?feature=share`,
  `https://www.youtube.com/embed/${ID}`,
  `https://www.youtube-nocookie.com/embed/${ID}`,
])('a YouTube video: %s', async (url) => {
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
])('a Vimeo video: %s', async (url, embedUrl) => {
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
])('an ordinary page: %s', async (url) => {
  const nowhere = site()
  expect((await find(url, nowhere)).preview).toBeNull()
  expect(nowhere.asked).toEqual([url])
})

test('its site tells the title, the thumbnail and the name of the channel', async () => {
  const told = site(
    JSON.stringify({
      title: 'A <b>song</b>',
      author_name: 'Rick',
      thumbnail_url: 'https://i.example.com/1.jpg',
      html: '<script>',
    }),
  )
  const { preview, isComplete } = await find(`https://youtu.be/${ID}`, told)
  expect(preview).toMatchObject({
    title: 'A <b>song</b>',
    authorName: 'Rick',
    image: 'https://i.example.com/1.jpg',
  })
  expect(isComplete).toBe(true)
  expect(told.asked).toEqual([
    `https://www.youtube.com/oembed?format=json&url=${encodeURIComponent(`https://www.youtube.com/watch?v=${ID}`)}`,
  ])
})

test('nonsense of its site is left out, and it is asked again soon', async () => {
  for (const nonsense of [
    '',
    '[]',
    '{"title":1}',
    '{"title":"x","thumbnail_url":"javascript:alert(1)"}',
    'null',
  ]) {
    const { preview, isComplete } = await find('https://vimeo.com/1', site(nonsense))
    expect(preview).toMatchObject({ title: 'Vimeo video', image: null, videoId: '1' })
    expect(isComplete).toBe(false)
  }
})

/** The video sites are this machine: what is asked of them is asked here, through the guard. */
async function standIn() {
  const web = await servePages()
  onTestFinished(async () => void (await web.stop()))
  const guarded = createFetch({ allowedHosts: [web.host] })
  const fetch: Fetch = (address, options) =>
    guarded(address.replace(/^https:\/\/(www\.youtube|vimeo)\.com/, web.url), options)
  return {
    web,
    fetch,
    youTube: `/oembed?format=json&url=${encodeURIComponent(`https://www.youtube.com/watch?v=${ID}`)}`,
  }
}
const told = JSON.stringify({
  title: 'Never',
  author_name: 'Rick',
  thumbnail_url: 'https://i.example.com/1.jpg',
})
const asJson = { 'content-type': 'application/json; charset=utf-8' }

test('the sites are asked over HTTP', async () => {
  const { web, fetch, youTube } = await standIn()
  const accepted: unknown[] = []
  web.pages[youTube] = (response, { headers }) => {
    accepted.push(headers.accept)
    response.writeHead(200, asJson).end(told)
  }
  web.pages[`/api/oembed.json?url=${encodeURIComponent('https://vimeo.com/1')}`] = (response) =>
    response.writeHead(200, asJson).end(told)
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
  ['refuses', 404, asJson, told],
  ['fails', 500, asJson, told],
  ['shows a page', 200, { 'content-type': 'text/html' }, '<title>Consent</title>'],
  ['compresses', 200, { ...asJson, 'content-encoding': 'gzip' }, told],
  ['never ends', 200, asJson, `${told.slice(0, -1)},"html":"${'x'.repeat(600_000)}"}`],
  ['sends us to a private address', 302, { location: 'http://169.254.169.254/' }, ''],
])('a video is described by its URL where its site %s', async (_, status, headers, body) => {
  const { web, fetch, youTube } = await standIn()
  web.pages[youTube] = (response) => response.writeHead(status, headers).end(body)
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
  expect(web.asked).toEqual([youTube])
})
