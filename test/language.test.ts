import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  channelEvents,
  ephemeralChannelEvents,
  ephemeralUserEvents,
  userEvents,
} from '@parley/contract'
import { expect, test } from 'vitest'
import { root } from './support/consumer.ts'
import { forbiddenWords, mentionedFiles, missingFiles, type Text } from './support/language.ts'

// The declarations of the packages: long/declarations.long.ts.
const papers = ['README.md', 'CHANGELOG.md', 'CONTRIBUTING.md', 'SECURITY.md']
const published = [
  'openapi.json',
  'asyncapi.json',
  ...papers,
  ...['client-sdk', 'contract', 'server'].map((folder) => `${folder}/README.md`),
  ...docs(),
].map(textOf)

test('published texts have no forbidden word', () => {
  expect(published.flatMap(forbiddenWords)).toEqual([])
})

test('a document that a published text mentions is in the repository', () => {
  expect(published.flatMap(({ text }) => mentionedFiles(text)).length).toBeGreaterThan(5)
  expect(published.flatMap(missingFiles)).toEqual([])
})

test.each(['client-sdk', 'contract', 'server'])(
  'the readme of the package in %s links to no file that the package does not have',
  (folder) => {
    const { text } = textOf(`${folder}/README.md`)
    const links = [...text.matchAll(/\]\(([^)]+)\)/g)].map(([, address = '']) => address)
    expect(links.length).toBeGreaterThan(0)
    expect(links.filter((address) => !/^(https:|#)/.test(address))).toEqual([])
  },
)

test('docs/realtime.md lists every event, as the contract describes it', () => {
  const { text } = textOf('docs/realtime.md')
  const listed = [...text.matchAll(/^\| `([\w.]+)` \| (.+) \|$/gm)].map(([, type, when]) => [
    type,
    when,
  ])
  const events = [channelEvents, ephemeralChannelEvents, userEvents, ephemeralUserEvents]
  const described = events.flatMap((each) =>
    Object.entries(each).map(([type, schema]) => [type, schema.description]),
  )
  expect(listed).toEqual(described)
})

test('the search finds words, documents and links, and fails without a text', () => {
  const text = 'He can not do it anew (SPEC "Errors", DESIGN.md §4), said the user himself.'
  expect(forbiddenWords({ name: 'a.md', text })).toEqual(
    ['He', 'can not', 'anew', 'himself', 'SPEC', 'DESIGN'].map((word) => `a.md: ${word}`),
  )
  expect(forbiddenWords({ name: 'a.md', text: 'They cannot: the design of a spec.' })).toEqual([])
  expect(mentionedFiles('[here](docs/a.md#b), see DESIGN.md, not [there](https://x.test)')).toEqual(
    ['docs/a.md', 'DESIGN.md'],
  )
  expect(() => textOf('docs/missing.md')).toThrow('ENOENT')
})

function textOf(name: string): Text {
  return { name, text: readFileSync(join(root, name), 'utf8') }
}

function docs() {
  const names = readdirSync(join(root, 'docs')).filter((name) => name.endsWith('.md'))
  expect(names).toEqual(expect.arrayContaining(['jobs.md', 'realtime.md']))
  return names.map((name) => `docs/${name}`)
}
