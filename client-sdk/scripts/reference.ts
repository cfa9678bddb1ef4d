import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  Application,
  type Comment,
  type DeclarationReflection,
  ReflectionKind,
  type SignatureReflection,
  type SomeType,
  UnknownType,
} from 'typedoc'

/**
 * Writes the reference of the package from the doc comments of what its entries export. Fails if
 * an export or one of its members has none. With `--check` it writes nothing, and fails if the page
 * is out of date.
 */
async function writeReference() {
  const modules = await analyse()
  const missing = modules.flatMap(({ entry, exports }) =>
    exports.flatMap(undescribed).map((name) => `${entry}: ${name}`),
  )
  const content = pageOf(modules)
  const linesWith = (pattern: RegExp) => content.split('\n').filter((line) => pattern.test(line))
  const untyped = linesWith(/`[^`]*\bany\b[^`]*`/)
  const unnamed = linesWith(/__\w/)
  const isCurrent = existsSync(PAGE) && readFileSync(PAGE, 'utf8') === content
  if (missing.length > 0) fail(`without a doc comment: ${missing.join(', ')}`)
  else if (untyped.length > 0) fail(`any is no type to document: ${untyped.join('\n')}`)
  else if (unnamed.length > 0) fail(`without a name: ${unnamed.join('\n')}`)
  else if (!process.argv.includes('--check')) writeFileSync(PAGE, content)
  else if (!isCurrent) fail('docs/sdk-reference.md is out of date: npm run reference')
}

/** Parts of an export without a doc comment: itself, each of its overloads, and its members. */
const undescribed = (each: Export) => [
  ...(commentsOf(each).length >= Math.max(1, each.signatures?.length ?? 0) ? [] : [each.name]),
  ...membersOf(each)
    .filter((member) => commentsOf(member).length === 0)
    .map((member) => `${each.name}.${member.name}`),
]

function fail(message: string) {
  console.error(message)
  process.exitCode = 1
}

const here = join(import.meta.dirname, '..')
const PAGE = join(here, '../docs/sdk-reference.md')
/** Its types come from the contract, whose reference is that of the API. */
const WIRE = 'client-sdk/generated/types.ts'
const entries = [
  ['@parley/client', 'index.ts', 'For front ends: a client of one user.'],
  ['@parley/client/react', 'react/index.ts', 'Hooks. Those that take an id accept undefined.'],
  ['@parley/client/server', 'server.ts', 'For backends, which have an API key.'],
  ['@parley/client/snapshots', 'snapshots.ts', 'What a client shows before there is a network.'],
  ['@parley/client/testing', 'testing/index.ts', 'A client in memory, for tests of applications.'],
  ['@parley/client/api', 'api.ts', 'Every operation as a plain call.'],
] as const

type Export = DeclarationReflection
type Module = { entry: string; about: string; exports: Export[]; others: string[] }

async function analyse(): Promise<Module[]> {
  const app = await Application.bootstrap({
    entryPoints: entries.map(([, file]) => join(here, file)),
    tsconfig: join(here, 'tsconfig.build.json'),
    basePath: join(here, '..'),
    skipErrorChecking: true,
    logLevel: 'Error',
  })
  const project = await app.convert()
  if (!project) throw new Error('the sources cannot be read')
  // As parts of other types methods would be printed as any.
  for (const method of project.getReflectionsByKind(ReflectionKind.Method) as Export[])
    method.type ??= new UnknownType(arrowText(method.signatures?.[0]))
  return entries.map(([entry, file, about]) => {
    const name = join('client-sdk', file).replace(/(\/index)?\.ts$/, '')
    const module = project.children?.find((each) => each.name === name)
    if (!module?.children) throw new Error(`${file} exports nothing`)
    const isShown = (each: Export) => !each.isReference() && !isOfTheWire(each)
    const exports = module.children.filter(isShown)
    const others = module.children.filter((each) => !isShown(each)).map(({ name }) => name)
    return { entry, about, exports, others }
  })
}

const isOfTheWire = ({ sources }: Export) => sources?.[0]?.fileName.endsWith(WIRE) ?? false

const pageOf = (modules: Module[]) => `\
# The client SDK, reference

[The guide](../client-sdk/README.md) shows how to use the package. The types of records, events and
operations, such as \`Channel\`, \`Message\` and \`UserApi\`, are those of the API: see
\`openapi.json\` and \`asyncapi.json\`, or \`/docs\` of a server in development.

${modules.map(sectionOf).join('\n\n')}

This page is generated from doc comments, by \`npm run reference\`.
`

function sectionOf({ entry, about, exports, others }: Module) {
  const parts = [`## ${entry}`, about, ...exports.map(describe)]
  if (others.length > 0) parts.push(`Also exported: ${others.map(code).join(', ')}.`)
  return parts.join('\n\n')
}

function describe(declaration: Export) {
  const { name } = declaration
  const members = membersOf(declaration)
  const rows = members.map(
    (member) => `| ${cell(code(titleOf(member)))} | ${cell(typeText(member))} | ${about(member)} |`,
  )
  const table = rows.length === 0 ? [] : ['', '| | type | |', '|---|---|---|', ...rows]
  const text = commentsOf(declaration).map(textOf).join('\n\n')
  const heading = [`### ${name}`, '', text, '', '```ts']
  return [...heading, ...declarationLines(declaration, members.length > 0), '```', ...table].join(
    '\n',
  )
}

/** The first line of a declaration, or all of it if it has no members to list. */
function declarationLines(declaration: Export, hasMembers: boolean) {
  const { name, kind, signatures = [], type, typeParameters = [] } = declaration
  if (signatures.length > 0) return signatures.map((each) => `function ${signatureText(each)}`)
  if (kind === ReflectionKind.Variable) return [`const ${name}: ${type}`]
  const given = typeParameters.map(({ name }) => name).join(', ')
  const full = given === '' ? name : `${name}<${given}>`
  if (kind === ReflectionKind.Class) return [`class ${full}`]
  if (kind === ReflectionKind.Interface) return [`interface ${full}`]
  if (!hasMembers) return [`type ${full} = ${type}`]
  const parts = type?.type === 'intersection' ? type.types : [type].flatMap((each) => each ?? [])
  const others = parts.filter((part) => part.type !== 'reflection')
  if (others.length === 0) return [`type ${full}`]
  const isIn = parts.length > 1
  const texts = others.map((part) => (isIn && part.type === 'union' ? `(${part})` : String(part)))
  if (others.length < parts.length) texts.push('{ … }')
  return [`type ${full} = ${texts.join(' & ')}`]
}

function membersOf({ children = [], type }: Export): Export[] {
  const inner = partsOf(type).flatMap((part) =>
    part.type === 'reflection' ? (part.declaration.children ?? []) : [],
  )
  return [...children, ...inner].filter(
    ({ name, inheritedFrom }) => name !== 'constructor' && !inheritedFrom,
  )
}

/** The parts of intersections and unions; of other types, the type itself. */
function partsOf(type: Export['type']): SomeType[] {
  if (type === undefined) return []
  if (type.type !== 'intersection' && type.type !== 'union') return [type]
  return type.types.flatMap(partsOf)
}

const titleOf = ({ name, flags }: Export) => `${name}${flags.isOptional ? '?' : ''}`

function typeText({ signatures = [], getSignature, type }: Export) {
  const texts = signatures.map(signatureText)
  if (texts.length > 0) return texts.map(code).join(' ')
  return code(String(getSignature?.type ?? type))
}

const signatureText = (signature: SignatureReflection) =>
  `${signature.name}(${givenText(signature)}): ${signature.type}`
const arrowText = (signature: SignatureReflection | undefined) =>
  signature ? `(${givenText(signature)}) => ${signature.type}` : 'unknown'

const givenText = (signature: SignatureReflection) =>
  (signature.parameters ?? [])
    .map((each) => {
      const mark = each.flags.isOptional || each.defaultValue ? '?' : ''
      return `${givenName(each.name, signature)}${mark}: ${each.type}`
    })
    .join(', ')

/** A destructured parameter has no name in the source: the props of a component, or options. */
function givenName(name: string, { name: of }: SignatureReflection) {
  if (name !== '__namedParameters') return name
  return /^[A-Z]/.test(of) ? 'props' : 'options'
}

/** Its own, and those of its overloads. */
function commentsOf({ comment, signatures = [], getSignature, type }: Export): Comment[] {
  const inner = type?.type === 'reflection' ? type.declaration.signatures : undefined
  const parts = [...signatures, ...(inner ?? [])].map((each) => each.comment)
  const all = [comment, getSignature?.comment, ...parts]
  return all.flatMap((each) => (each?.summary.length ? [each] : []))
}

const textOf = ({ summary }: Comment) => summary.map(({ text }) => text).join('')
const about = (member: Export) =>
  cell(commentsOf(member).map(textOf).join(' ').replaceAll(/\s+/g, ' '))
const code = (text: string) => `\`${text.replaceAll(/\s+/g, ' ')}\``
const cell = (text: string) => text.replaceAll('|', '\\|')

await writeReference()
