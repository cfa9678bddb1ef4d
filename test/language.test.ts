import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import {
  channelEvents,
  ephemeralChannelEvents,
  ephemeralUserEvents,
  userEvents,
} from '@parley/contract'
import { beforeAll, expect, test } from 'vitest'
import { root, run } from './support/consumer.ts'

/** Users are "they", and "cannot" is one word. */
const WORDS = /\b(?:he|his|him|himself|can not|anew)\b/gi
/** Documents that readers do not have. */
const DOCUMENTS = /\b(?:SPEC|DESIGN)\b/g

let published: Text[]
beforeAll(async () => {
  const papers = ['README.md', 'CHANGELOG.md', 'CONTRIBUTING.md', 'SECURITY.md']
  const names = ['openapi.json', 'asyncapi.json', ...papers, 'client-sdk/README.md', ...docs()]
  published = [
    ...names.map(textOf),
    ...(await declarationsOf('contract')),
    ...(await declarationsOf('client-sdk')),
  ]
})

test('published texts have no forbidden word', () => {
  expect(published.flatMap(forbiddenWords)).toEqual([])
})

test('a document that a published text mentions is in the repository', () => {
  const mentions = published.flatMap(({ name, text }) =>
    mentionedFiles(text).map((file) => ({ name, file })),
  )
  expect(mentions.length).toBeGreaterThan(5)
  const missing = mentions.filter(
    ({ name, file }) => ![dirname(name), '.'].some((from) => existsSync(join(root, from, file))),
  )
  expect(missing).toEqual([])
})

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

type Text = { name: string; text: string }

const textOf = (name: string): Text => ({ name, text: readFileSync(join(root, name), 'utf8') })

function docs() {
  const names = readdirSync(join(root, 'docs')).filter((name) => name.endsWith('.md'))
  expect(names).toEqual(expect.arrayContaining(['jobs.md', 'realtime.md']))
  return names.map((name) => `docs/${name}`)
}

/** The declarations that `npm publish` would publish of a workspace, named by their sources. */
async function declarationsOf(workspace: 'contract' | 'client-sdk'): Promise<Text[]> {
  const folder = mkdtempSync(join(tmpdir(), 'parley-declarations-'))
  const compiler = join(root, 'node_modules/typescript/bin/tsc')
  const project = join(root, workspace, 'tsconfig.build.json')
  const args = ['--project', project, '--outDir', folder, '--emitDeclarationOnly']
  try {
    await run(process.execPath, [compiler, ...args])
    const files = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    const declarations = files.filter((file) => file.endsWith('.d.ts'))
    expect(declarations).toContain('index.d.ts')
    expect(declarations.length).toBeGreaterThan(20)
    return declarations.map((file) => ({
      name: `${workspace}/${file}`,
      text: readFileSync(join(folder, file), 'utf8'),
    }))
  } finally {
    rmSync(folder, { recursive: true })
  }
}

const forbiddenWords = ({ name, text }: Text) =>
  [...text.matchAll(WORDS), ...text.matchAll(DOCUMENTS)].map(([word]) => `${name}: ${word}`)

/** The targets of relative links, and whatever else looks like the path of a Markdown file. */
function mentionedFiles(text: string) {
  const links = [...text.matchAll(/\]\((?!\w+:|#)([^)#\s]+)/g)].map(([, target = '']) => target)
  const withoutLinks = text.replace(/\]\([^)]*\)/g, ']')
  const paths = withoutLinks.match(/[\w./-]+\.md\b/g) ?? []
  return [...links, ...paths]
}
