import ts from 'typescript'

const options = {
  ...{ strict: true, skipLibCheck: true, noEmit: true, allowImportingTsExtensions: true },
  jsx: ts.JsxEmit.ReactJSX,
  // Without the types of browsers, which take seconds to read: their names are not wanted.
  lib: ['lib.es2022.d.ts'],
  types: [],
  module: ts.ModuleKind.ESNext,
  moduleResolution: ts.ModuleResolutionKind.Bundler,
}

/**
 * The names of the members of everything that these modules export, of the types of these members,
 * and so on: what an application, a storage or the server may use. Members of classes that are not
 * exported themselves are left out, and those that other packages declare.
 */
export function publicNames(files) {
  const program = ts.createProgram(files, options)
  const checker = program.getTypeChecker()
  const isOwn = ({ valueDeclaration: declaration }) => {
    const file = declaration?.getSourceFile()
    if (!file) return true
    return !program.isSourceFileDefaultLibrary(file) && !file.fileName.includes('/node_modules/')
  }
  const names = new Set()
  const sources = files.map((file) => program.getSourceFile(file))
  const types = new Set(sources.flatMap((source) => exportedTypes(checker, source)))
  // More are added while they are walked.
  for (const type of types) {
    const members = type.getProperties().filter(isOwn)
    for (const { name } of members) names.add(name)
    const mentioned = members.map((member) => checker.getTypeOfSymbol(member))
    for (const part of [...mentioned, ...partsOf(checker, type)])
      if (!part.isClass()) types.add(part)
  }
  return names
}

const exportedTypes = (checker, file) =>
  checker.getExportsOfModule(checker.getSymbolAtLocation(file)).map((exported) => {
    const isAlias = exported.flags & ts.SymbolFlags.Alias
    const symbol = isAlias ? checker.getAliasedSymbol(exported) : exported
    const isType = symbol.flags & ts.SymbolFlags.Type
    return isType ? checker.getDeclaredTypeOfSymbol(symbol) : checker.getTypeOfSymbol(symbol)
  })

/** The parts of a type beside its members. */
const partsOf = (checker, type) => [
  ...(type.isUnionOrIntersection() ? type.types : []),
  ...(type.objectFlags & ts.ObjectFlags.Reference ? checker.getTypeArguments(type) : []),
  ...(type.aliasTypeArguments ?? []),
  ...type.getCallSignatures().flatMap((signature) => [
    signature.getReturnType(),
    ...signature.getParameters().map((parameter) => checker.getTypeOfSymbol(parameter)),
  ]),
]
