import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { deserialize, serialize } from 'node:v8'
import type {
  Node,
  SourceFile,
  TaggedTemplateExpression,
  TemplateLiteral,
  TypeNode,
} from 'typescript-native/unstable/ast'
import {
  isNoSubstitutionTemplateLiteral,
  isTaggedTemplateExpression,
} from 'typescript-native/unstable/ast/is'
import { type Checker, SymbolFlags, type Type, TypeFlags } from 'typescript-native/unstable/sync'
import { withCompiler } from '../compiler.ts'

/** The type of a column: `string`, `number[]`, `json` (any structure), `null` … */
type Kind = string
/** A query in the server's source whose rows have a declared type: db<Row[]>`select …`. */
export type DeclaredQuery = {
  /** `file:line`. */
  place: string
  /** Its text between the parameters. */
  parts: string[]
  /** By name, or by position if the rows are tuples. */
  columns: Map<string, Kind[]>
  isPositional: boolean
  /** Columns that some of the rows of this type do not have. */
  optional: Set<string>
}

const root = join(import.meta.dirname, '../../..')

/**
 * Every query of the server that declares the type of its rows, as the compiler sees it. To read
 * them takes seconds, so the first caller of a run leaves them in the run's folder.
 */
export function declaredQueries(folder: string): DeclaredQuery[] {
  const file = join(folder, 'declared')
  if (existsSync(file)) return deserialize(readFileSync(file))
  const queries = readQueries()
  writeFileSync(file, serialize(queries))
  return queries
}

const readQueries = () =>
  withCompiler('tsconfig.json', ({ program, checker }) =>
    program
      .getSourceFileNames()
      .filter((name) => name.startsWith(join(root, 'server/')) && !name.includes('node_modules'))
      .flatMap((name) => queriesIn(program.getSourceFile(name), checker)),
  )

function queriesIn(file: SourceFile | undefined, checker: Checker) {
  const queries: DeclaredQuery[] = []
  const visit = (node: Node) => {
    if (file && isTaggedTemplateExpression(node) && node.typeArguments?.[0])
      queries.push(declaredQuery(checker, file, node, node.typeArguments[0]))
    node.forEachChild(visit)
  }
  file?.forEachChild(visit)
  return queries
}

function declaredQuery(
  checker: Checker,
  file: SourceFile,
  { template, pos }: TaggedTemplateExpression,
  rows: TypeNode,
): DeclaredQuery {
  const line = file.text.slice(0, pos).trimEnd().split('\n').length
  const place = `${relative(root, file.fileName)}:${line}`
  const array = checker.getTypeFromTypeNode(rows)
  const [row] = array?.isTypeReference() ? checker.getTypeArguments(array) : []
  if (!row) throw new Error(`${place}: expected the type of an array of rows`)
  const isPositional = checker.isTupleType(row)
  const elements = isPositional && row.isTypeReference() ? checker.getTypeArguments(row) : []
  const properties = isPositional ? [] : checker.getPropertiesOfType(row)
  const types = isPositional ? elements : checker.getTypeOfSymbol(properties)
  const columns = types.map((type, index): [string, Kind[]] => [
    properties[index]?.name ?? `${index}`,
    kindsOf(checker, type),
  ])
  return {
    place,
    parts: partsOf(template),
    columns: new Map(columns),
    isPositional,
    optional: new Set(
      properties.filter(({ flags }) => flags & SymbolFlags.Optional).map(({ name }) => name),
    ),
  }
}

const partsOf = (template: TemplateLiteral) =>
  isNoSubstitutionTemplateLiteral(template)
    ? [template.text]
    : [template.head.text, ...template.templateSpans.map(({ literal }) => literal.text)]

function kindsOf(checker: Checker, type: Type | undefined): Kind[] {
  if (!type) throw new Error('a column has no type')
  if (type.isUnionType())
    return [...new Set(type.getTypes().flatMap((each) => kindsOf(checker, each)))]
  const { flags } = type
  if (flags & TypeFlags.StringLike) return ['string']
  if (flags & TypeFlags.NumberLike) return ['number']
  if (flags & TypeFlags.BooleanLike) return ['boolean']
  if (flags & (TypeFlags.Null | TypeFlags.Undefined)) return ['null']
  if (flags & (TypeFlags.Any | TypeFlags.Unknown)) return ['json']
  const [element] =
    checker.isArrayType(type) && type.isTypeReference() ? checker.getTypeArguments(type) : []
  const elements = element ? kindsOf(checker, element).filter((kind) => kind !== 'null') : []
  return ['json', ...elements.map((kind) => `${kind}[]`)]
}
