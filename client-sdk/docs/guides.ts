import { lexer, type Token, type Tokens } from 'marked'

/** A guide: a file of the folder `docs`, or a README. */
export type Guide = {
  name: string
  /** Its file, from the root of the repository. */
  file: string
  title: string
  tokens: Token[]
}

const files: Record<string, string> = {
  ...import.meta.glob<string>(['../../docs/*.md', '../../README.md', '../README.md'], {
    query: '?raw',
    import: 'default',
    eager: true,
  }),
}
/** Names of guides that are clearer in a list than their first headings. */
const titles: Record<string, string> = {
  'README.md': 'Getting started',
  'client-sdk/README.md': 'The client SDK',
}
/** Guides for those who change the server, few of its readers. */
const INSIDE = ['architecture', 'internals']
/** Groups of guides. Those that are in no group come last. */
const order = [
  { title: 'Start', names: ['parley', 'install', 'authentication', 'client', 'sdk-reference'] },
  {
    title: 'Build',
    names: [
      'backends',
      'realtime',
      'webhooks',
      'before-send',
      'bots',
      'custom-data',
      'import',
      'migration',
    ],
  },
  { title: 'Run', names: ['operations', 'jobs', 'scaling', 'reliability', 'privacy'] },
  { title: 'Inside', names: INSIDE },
]

const guides = Object.entries(files).map(([path, text]): Guide => {
  const file = path.startsWith('../../') ? path.slice(6) : `client-sdk/${path.slice(3)}`
  const tokens = lexer(text)
  const heading = tokens.find((token): token is Tokens.Heading => token.type === 'heading')
  return {
    file,
    tokens,
    name: guideNameOf(file) ?? file,
    title: titles[file] ?? heading?.text ?? file,
  }
})
const grouped = order.map(({ title, names }) => ({
  title,
  guides: names.flatMap((name) => guides.find((guide) => guide.name === name) ?? []),
}))
const others = guides.filter(({ name }) => !order.some(({ names }) => names.includes(name)))
export const guideGroups = [...grouped, { title: 'More', guides: others }].filter(
  (group) => group.guides.length > 0,
)

export const isInside = ({ name }: Guide) => INSIDE.includes(name)

export const guideNamed = (name: string | undefined) => guides.find((guide) => guide.name === name)

/** The name of the guide that a file is, if it is one. */
export function guideNameOf(file: string) {
  if (file === 'README.md') return 'parley'
  if (file === 'client-sdk/README.md') return 'client'
  return /^docs\/([\w-]+)\.md$/.exec(file)?.[1]
}

/** The anchor of a heading, as GitHub makes it. */
export const anchorOf = (heading: string) =>
  heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-')

type Section = { guide: Guide; heading: string; anchor: string; text: string }

/** The parts of all guides between their headings, to search in. */
export const sections = (): Section[] => guides.flatMap(sectionsOf)

function sectionsOf(guide: Guide) {
  const found: Section[] = []
  for (const token of guide.tokens) {
    if (token.type === 'heading') {
      const heading = (token as Tokens.Heading).text.replaceAll('`', '')
      found.push({ guide, heading, anchor: anchorOf(heading), text: '' })
    } else {
      const section = found.at(-1)
      if (section) section.text += ` ${token.raw}`
    }
  }
  return found
}
