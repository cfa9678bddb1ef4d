import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import ts from 'typescript'
import { build } from 'vite'
import { expect, test } from 'vitest'
import {
  clientPackages,
  createConsumer,
  installPacked,
  nodeStyle,
  root,
  run,
} from '../support/consumer.ts'
import { examplesOf } from '../support/examples.ts'
import { wsUrlOf } from '../support/realtime.ts'
import { useWorld } from '../support/world.ts'

const world = useWorld()
/** The client and its transport, gzipped, as a browser loads them. */
const MAX_BYTES = 30_000
/** Types of the packages that the React Native example uses and that only work there. */
const NATIVE = `
declare module '@react-native-async-storage/async-storage' {
  const storage: {
    getAllKeys(): Promise<readonly string[]>
    getItem(key: string): Promise<string | null>
    setItem(key: string, value: string): Promise<void>
    removeItem(key: string): Promise<void>
  }
  export default storage
}
declare module 'react-native' {
  export const AppState: {
    addEventListener(type: 'change', listener: (state: string) => void): { remove(): void }
  }
}`

test('the packed client compiles without skipLibCheck, runs in Node.js and is small', async () => {
  const frameworks = ['vue', 'svelte', 'vite', '@vitejs/plugin-react']
  const consumer = createConsumer('client.ts', [...clientPackages, ...frameworks])
  const { folder } = consumer
  await installPacked('client-sdk', folder)
  await consumer.compile(7, nodeStyle)
  // packages.long.ts compiles it with the other compiler, and as bundlers find packages.
  const { url, apiKey } = world()
  expect(await consumer.run(url, wsUrlOf(world()), apiKey)).toEqual({
    name: 'Talk',
    plan: 'pro',
    text: 'one',
    received: 'one',
    code: 'NOT_FOUND',
    status: 404,
  })

  const program = `for (const entry of ['', '/server', '/react', '/testing'])
    console.log(Object.keys(require('@parley/client' + entry)).join())`
  const args = ['--no-warnings', '--input-type=commonjs', '--eval', program]
  const { stdout } = await run(process.execPath, args, { cwd: folder })
  for (const name of ['createChatClient', 'createChatServer', 'useMessages', 'createFakeChat'])
    expect(stdout).toContain(name)

  const blocks = ['ts', 'tsx'].flatMap((kind) =>
    examplesOf('client-sdk/README.md', kind).map((text) => ({ kind, text })),
  )
  const examples = blocks.map(({ kind, text }, index) => {
    const isTypes = text.includes('declare module')
    const file = isTypes ? 'custom.d.ts' : `example${index}.${kind}`
    writeFileSync(join(folder, file), isTypes ? text : `${text}\nexport {}\n`)
    return file
  })
  expect(examples).toHaveLength(12)
  writeFileSync(join(folder, 'native.d.ts'), NATIVE)
  for (const version of [5, 7] as const)
    await consumer.compile(version, viteStyle(), ['native.d.ts', ...examples])

  const code = await bundle(folder)
  expect(code).not.toMatch(/from\s*["'](node:|ws|zod|react)/)
  expect(gzipSync(code, { level: 9 }).length).toBeLessThanOrEqual(MAX_BYTES)
})

/** The options of an application that Vite has made, which also refuse unused names. */
function viteStyle() {
  const file = join(root, 'node_modules/create-vite/template-react-ts/tsconfig.app.json')
  const { config } = ts.parseConfigFileTextToJson(file, readFileSync(file, 'utf8'))
  const { tsBuildInfoFile: _, ...options } = config.compilerOptions
  return { ...options, types: ['node', ...options.types] }
}

/** The core entry, bundled by Vite for a browser. */
async function bundle(folder: string) {
  writeFileSync(join(folder, 'entry.js'), "export * from '@parley/client'\n")
  const built = await build({
    root: folder,
    logLevel: 'error',
    configFile: false,
    build: {
      write: false,
      modulePreload: false,
      rolldownOptions: { input: 'entry.js', preserveEntrySignatures: 'strict' },
    },
  })
  const [first] = [built].flat()
  return (first && 'output' in first && first.output[0].code) || ''
}
