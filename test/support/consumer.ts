import { execFile } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import ts from 'typescript'
import { onTestFinished } from 'vitest'

export const root = join(import.meta.dirname, '../..')
export const run = promisify(execFile)

/** The project of somebody else: a folder outside the workspaces with a program of `test/consumers` and the packages it uses. */
export function createConsumer(program: string, packages: string[]) {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'parley-consumer-')))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
  cpSync(join(root, 'test/consumers', program), join(folder, program))
  for (const name of packages) {
    const link = join(folder, 'node_modules', name)
    mkdirSync(dirname(link), { recursive: true })
    symlinkSync(join(root, 'node_modules', name), link, 'junction')
  }
  return {
    folder,
    /** Compiles the program, strictly, and gives what TypeScript says against it. */
    compile: (moduleKind: 'NodeNext' | 'Bundler') => compile(join(folder, program), moduleKind),
    /** What the compiled program's `main` answers in a plain Node. */
    run: async (...args: string[]): Promise<unknown> => {
      const script = `import { main } from './${program.replace('.ts', '.js')}'; console.log(JSON.stringify(await main(...process.argv.slice(1))))`
      const { stdout } = await run(process.execPath, ['--input-type=module', '--eval', script, ...args], { cwd: folder })
      return JSON.parse(stdout)
    },
  }
}

function compile(file: string, resolution: 'NodeNext' | 'Bundler') {
  const program = ts.createProgram([file], {
    strict: true,
    exactOptionalPropertyTypes: true,
    skipLibCheck: false,
    target: ts.ScriptTarget.ES2022,
    module: resolution === 'NodeNext' ? ts.ModuleKind.NodeNext : ts.ModuleKind.ESNext,
    moduleResolution: ts.ModuleResolutionKind[resolution],
    lib: ['lib.es2022.d.ts', 'lib.dom.d.ts', 'lib.dom.iterable.d.ts', 'lib.dom.asynciterable.d.ts', 'lib.esnext.disposable.d.ts'],
    types: [],
  })
  const { diagnostics } = program.emit()
  return [...ts.getPreEmitDiagnostics(program), ...diagnostics].map(({ file, start, messageText }) => {
    const place = file && start !== undefined ? `${file.fileName}:${file.getLineAndCharacterOfPosition(start).line + 1}: ` : ''
    return place + ts.flattenDiagnosticMessageText(messageText, '\n')
  })
}
