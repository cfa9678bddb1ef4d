import { expect, test } from 'vitest'
import { html, useFoundPreviews } from './support/found-previews.ts'
import { page } from './support/pages.ts'

const { web, find } = useFoundPreviews()

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
    image: `${web().url}/pic.png`,
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
  expect(await imageOf('a.png')).toBe(`${web().url}/dir/a.png`)
  expect(await imageOf('../a.png?b=c&amp;d')).toBe(`${web().url}/a.png?b=c&d`)
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
