import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { deserialize, serialize } from 'node:v8'
import ts from 'typescript'

/** What a column may hold: `string`, `number[]`, `json` (any structure), `null` … */
type Kind = string
/** A query in the server's source whose rows have a declared type: db<Row[]>`select …`. */
export type DeclaredQuery = {
  /** `file:line`. */
  place: string
  /** Its text between the parameters. */
  parts: string[]
  columns: Map<string, Kind[]>
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

function readQueries() {
  const configFile = join(root, 'tsconfig.json')
  const { config } = ts.readConfigFile(configFile, ts.sys.readFile)
  const parsed = ts.parseJsonConfigFileContent({ ...config, include: ['server'] }, ts.sys, root)
  const program = ts.createProgram(parsed.fileNames, { ...parsed.options, types: ['node'] })
  const checker = program.getTypeChecker()
  const queries: DeclaredQuery[] = []
  const visit = (node: ts.Node) => {
    if (ts.isTaggedTemplateExpression(node) && node.typeArguments?.[0])
      queries.push(declaredQuery(checker, node, node.typeArguments[0]))
    ts.forEachChild(node, visit)
  }
  for (const file of program.getSourceFiles())
    if (file.fileName.startsWith(join(root, 'server/'))) visit(file)
  return queries
}

function declaredQuery(
  checker: ts.TypeChecker,
  node: ts.TaggedTemplateExpression,
  rows: ts.TypeNode,
): DeclaredQuery {
  const file = node.getSourceFile()
  const { line } = file.getLineAndCharacterOfPosition(node.getStart())
  const array = checker.getTypeFromTypeNode(rows) as ts.TypeReference // the type of rows is one
  const [row] = checker.getTypeArguments(array)
  if (!row) throw new Error(`${file.fileName}:${line + 1}: expected the type of an array of rows`)
  const properties = checker.getPropertiesOfType(row)
  const columns = properties.map((column): [string, Kind[]] => [
    column.name,
    kindsOf(checker, checker.getTypeOfSymbolAtLocation(column, node)),
  ])
  return {
    place: `${relative(root, file.fileName)}:${line + 1}`,
    parts: partsOf(node.template),
    columns: new Map(columns),
    optional: new Set(
      properties.filter(({ flags }) => flags & ts.SymbolFlags.Optional).map(({ name }) => name),
    ),
  }
}

const partsOf = (template: ts.TemplateLiteral) =>
  ts.isNoSubstitutionTemplateLiteral(template)
    ? [template.text]
    : [template.head.text, ...template.templateSpans.map(({ literal }) => literal.text)]

function kindsOf(checker: ts.TypeChecker, type: ts.Type): Kind[] {
  if (type.isUnion()) return [...new Set(type.types.flatMap((each) => kindsOf(checker, each)))]
  const { flags } = type
  if (flags & ts.TypeFlags.StringLike) return ['string']
  if (flags & ts.TypeFlags.NumberLike) return ['number']
  if (flags & ts.TypeFlags.BooleanLike) return ['boolean']
  if (flags & (ts.TypeFlags.Null | ts.TypeFlags.Undefined)) return ['null']
  if (flags & (ts.TypeFlags.Any | ts.TypeFlags.Unknown)) return ['json']
  const [element] = checker.isArrayType(type)
    ? checker.getTypeArguments(type as ts.TypeReference)
    : [] // an array type is a reference
  const elements = element ? kindsOf(checker, element).filter((kind) => kind !== 'null') : []
  return ['json', ...elements.map((kind) => `${kind}[]`)]
}
