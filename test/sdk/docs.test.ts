import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import ts from 'typescript'
import { expect, test } from 'vitest'
import { root } from '../support/consumer.ts'

const folder = join(root, 'client-sdk')
const parse = (file: string) =>
  ts.createSourceFile(file, readFileSync(join(folder, file), 'utf8'), ts.ScriptTarget.Latest, true)
/**
 * Leaves out what is built or installed, which other tests replace meanwhile, and the console,
 * which is not a part of the package.
 */
function sourceFiles(): string[] {
  const entries = readdirSync(folder, { withFileTypes: true }).filter(
    ({ name }) => !/^(dist|node_modules|console)/.test(name),
  )
  const files = entries.flatMap((entry) =>
    entry.isDirectory()
      ? readdirSync(join(folder, entry.name), { recursive: true, encoding: 'utf8' }).map((file) =>
          join(entry.name, file),
        )
      : [entry.name],
  )
  return files.map((file) => file.replaceAll('\\', '/')).filter((file) => file.endsWith('.ts'))
}
const isExported = (node: ts.Statement) =>
  ts.canHaveModifiers(node) &&
  (ts.getModifiers(node) ?? []).some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword)
const commentOf = (node: ts.Node) =>
  ts.getJSDocCommentsAndTags(node).flatMap((each) => (ts.isJSDoc(each) ? each.getText() : []))[0]

type Declaration = {
  name: string
  text: string | undefined
  members: { name: string; text: string | undefined }[]
}
/** Structures of an entry's own files whose members applications use. */
const STRUCTURES = new Set(['ChatClient', 'Room'])

/** The exports of a file and the public members of its classes, with their doc comments. */
function declarationsOf(file: ts.SourceFile): Declaration[] {
  const described = (node: ts.Node & { name?: ts.Node | undefined }) => ({
    name: node.name?.getText() ?? '',
    text: commentOf(node),
  })
  return file.statements.filter(isExported).flatMap((node): Declaration[] => {
    if (ts.isVariableStatement(node))
      return node.declarationList.declarations.map((each) => ({
        name: each.name.getText(),
        text: commentOf(node),
        members: [],
      }))
    if (ts.isClassDeclaration(node))
      return [
        {
          ...described(node),
          members: node.members
            .filter(({ name }) => name && !ts.isPrivateIdentifier(name))
            .map(described),
        },
      ]
    if (ts.isInterfaceDeclaration(node) && STRUCTURES.has(node.name.text))
      return [{ ...described(node), members: node.members.map(described) }]
    return ts.isFunctionDeclaration(node) ||
      ts.isTypeAliasDeclaration(node) ||
      ts.isInterfaceDeclaration(node)
      ? [{ ...described(node), members: [] }]
      : []
  })
}

/** The names that an entry re-exports, as the other files have them. */
const reExported = (entry: ts.SourceFile) =>
  entry.statements
    .filter(ts.isExportDeclaration)
    .flatMap(({ exportClause }) =>
      exportClause && ts.isNamedExports(exportClause)
        ? exportClause.elements.map((each) => (each.propertyName ?? each.name).getText())
        : [],
    )

test('every export of the package and every public member of its classes has a doc comment', () => {
  const sources = new Map(sourceFiles().map((file) => [file, parse(file)]))
  const of = (...files: string[]) => files.flatMap((file) => sources.get(file) ?? [])
  const entries = of('index.ts', 'react/index.ts', 'server.ts')
  const whole = [...entries, ...of('types.ts')].flatMap(declarationsOf)
  const names = new Set([...entries.flatMap(reExported), ...whole.map(({ name }) => name)])
  const shown = [...sources.values()].flatMap(declarationsOf).filter(({ name }) => names.has(name))
  expect(shown.length).toBeGreaterThan(80)
  const documented = new Set(shown.flatMap(({ name, text }) => (text === undefined ? [] : [name])))
  const undocumented = shown.flatMap(({ name, members }) => [
    ...(documented.has(name) ? [] : [name]),
    ...members.flatMap((member) =>
      members.some((other) => other.name === member.name && other.text !== undefined)
        ? []
        : [`${name}.${member.name}`],
    ),
  ])
  expect(undocumented).toEqual([])
})
