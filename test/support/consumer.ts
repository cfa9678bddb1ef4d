import { execFile } from 'node:child_process'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { onTestFinished } from 'vitest'
import { packages, unpack } from './packed.ts'

export const root = join(import.meta.dirname, '../..')
export const run = promisify(execFile)

/** The compilers in use: the last one written in JavaScript, and the native one. */
const compilers = {
  5: compilerOf(join(root, 'test')),
  7: compilerOf(root),
}
function compilerOf(workspace: string) {
  return join(
    dirname(createRequire(join(workspace, 'package.json')).resolve('typescript/package.json')),
    'bin/tsc',
  )
}
type CompilerOptions = {
  module: string
  moduleResolution: string
  jsx?: string
  types?: string[]
  skipLibCheck?: boolean
  exactOptionalPropertyTypes?: boolean
}
/** How packages are found: as Node.js does it, or as bundlers do. */
export const nodeStyle = { module: 'nodenext', moduleResolution: 'nodenext' }
export const bundlerStyle = { module: 'esnext', moduleResolution: 'bundler' }
const compilerOptions = {
  strict: true,
  exactOptionalPropertyTypes: true,
  skipLibCheck: false,
  // The declarations that come with the compiler are not checked.
  skipDefaultLibCheck: true,
  target: 'es2022',
  lib: ['es2022', 'dom', 'dom.iterable', 'dom.asynciterable', 'esnext.disposable'],
  types: [],
}

/** The packages that the programs of `test/consumers` use beside ours. */
export const contractPackages = ['zod', '@trpc/server', '@trpc/client']
export const clientPackages = [
  'standardwebhooks',
  'ws',
  'react',
  '@types/react',
  'csstype',
  '@types/node',
  'undici-types',
]

/**
 * A project of a consumer: a folder outside the workspaces with a program of `test/consumers` and
 * the packages that it uses.
 */
export function createConsumer(program: string, packages: string[]) {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'parley-consumer-')))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
  cpSync(join(root, 'test/consumers', program), join(folder, program))
  link(packages, folder)
  return {
    folder,
    /** Compiles the program strictly; rejects with the errors of TypeScript. */
    compile: async (
      version: keyof typeof compilers,
      options: CompilerOptions,
      files = [program],
    ) => {
      writeFileSync(
        join(folder, 'tsconfig.json'),
        JSON.stringify({ compilerOptions: { ...compilerOptions, ...options }, files }),
      )
      await run(process.execPath, [compilers[version], '--project', folder]).catch(({ stdout }) => {
        throw new Error(stdout)
      })
    },
    /** Runs the compiled program in plain Node.js; answers the result of its `main`. */
    run: async (...args: string[]): Promise<unknown> => {
      const script = `
        import { main } from './${program.replace('.ts', '.js')}'
        console.log(JSON.stringify(await main(...process.argv.slice(1))))`
      const { stdout } = await run(
        process.execPath,
        ['--input-type=module', '--eval', script, ...args],
        { cwd: folder },
      )
      return JSON.parse(stdout)
    },
  }
}

/** An app in a folder outside the repository, made from a template, with the packed client. */
export async function createApp(template = 'test/consumers/app') {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'parley-app-')))
  cpSync(join(root, template), folder, { recursive: true })
  link(appPackages, folder)
  await installPacked('client-sdk', folder)
  return {
    folder,
    /** Runs a program of a package in the app's folder; rejects with its output. */
    run: (program: string, ...args: string[]) =>
      run(process.execPath, [join('node_modules', program), ...args], { cwd: folder }).catch(
        ({ stdout, stderr }) => Promise.reject(new Error(`${stdout}${stderr}`)),
      ),
    remove: () => rmSync(folder, { recursive: true }),
  }
}
const appPackages = [
  ...clientPackages,
  'vite',
  '@vitejs/plugin-react',
  'typescript',
  'react-dom',
  '@types/react-dom',
]

/** Links packages that are installed here into a consumer's folder. */
function link(packages: string[], folder: string) {
  for (const name of packages) {
    const path = join(folder, 'node_modules', name)
    const installed = [join(root, 'test/node_modules', name), join(root, 'node_modules', name)]
    mkdirSync(dirname(path), { recursive: true })
    symlinkSync(installed.find((each) => existsSync(each)) ?? '', path, 'junction')
  }
}

/** Installs the published files of a workspace in a consumer's folder. */
export async function installPacked(workspace: keyof typeof names, folder: string) {
  const packed = (await packages()).find(({ name }) => name === names[workspace])
  if (!packed) throw new Error(`${workspace} was not packed`)
  await unpack(packed, folder)
}
const names = { contract: '@parley/contract', 'client-sdk': '@parley/client' }
