import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { checkPackage, createPackageFromTarballData } from '@arethetypeswrong/core'
import { build } from 'esbuild'
import { publint } from 'publint'
import { expect, test } from 'vitest'
import { clientPackages, createConsumer, installPacked, run } from '../support/consumer.ts'

test('compilers, bundlers, browsers and CommonJS programs can use the packed client', async () => {
  const { folder } = createConsumer('client.ts', clientPackages)
  await installPacked('client-sdk', folder)
  const pkgDir = join(folder, 'node_modules/@parley/client')
  const { messages } = await publint({ pkgDir, pack: false, strict: true })
  expect(messages).toEqual([])
  const tarball = join(folder, 'client.tgz')
  await run('tar', ['-czf', tarball, '-C', join(folder, 'node_modules/@parley'), 'client'])
  const analysed = await checkPackage(createPackageFromTarballData(readFileSync(tarball)))
  expect('problems' in analysed && analysed.problems).toEqual([])

  expect(await sizeOf("export { isChatError } from '@parley/client'", folder)).toBeLessThan(1_000)
  expect(await answersOf(folder)).toBe('true,true')
  const imports = importsOf(join(pkgDir, 'dist/browser'))
  expect(new Set(imports.filter((name) => !name.startsWith('./')))).toEqual(new Set(['react']))
  const react = readFileSync(join(pkgDir, 'dist/browser/react.js'), 'utf8')
  expect(react).toMatch(/^"use client";/)
  expect(react).toContain('//# sourceMappingURL=')
})

test('the build for browsers repeats calls, and streams where sockets are blocked', async () => {
  const { folder } = createConsumer('client.ts', clientPackages)
  await installPacked('client-sdk', folder)
  const program = `
    import { createChatClient } from './node_modules/@parley/client/dist/browser/index.js'
    const user = { id: 'ana', name: 'Ana', image: null }
    const token = () => ({
      ...{ token: 't', wsToken: 'w', user, appId: 'a', wsUrl: 'ws://test/connection/websocket' },
      expiresIn: 3600,
    })
    class BlockedSocket {
      constructor() {
        setTimeout(() => this.onclose?.({ code: 1006, reason: '' }))
      }
      close() {}
    }
    let calls = 0
    const streams = new Promise((resolve) => {
      globalThis.streamed = resolve
    })
    const fetch = async (url) => {
      if (String(url).endsWith('/connection/http_stream')) streamed()
      else calls += 1
      return new Response('busy', { status: 503 })
    }
    const chat = createChatClient({ url: 'http://test', token, fetch, webSocket: BlockedSocket })
    const { code } = await chat.api.channels.list().catch((error) => error)
    console.log([code, calls].join())
    chat.connect().catch(() => {})
    await streams
    console.log('streams')
    process.exit()`
  const args = ['--input-type=module', '--eval', program]
  const { stdout } = await run(process.execPath, args, { cwd: folder })
  expect(stdout.trim().split('\n')).toEqual(['UNAVAILABLE,4', 'streams'])
})

/** The bytes of a program, bundled and gzipped. */
async function sizeOf(program: string, folder: string) {
  writeFileSync(join(folder, 'entry.js'), program)
  const { outputFiles } = await build({
    absWorkingDir: folder,
    entryPoints: ['entry.js'],
    bundle: true,
    minify: true,
    format: 'esm',
    write: false,
    logLevel: 'error',
  })
  return gzipSync(outputFiles[0]?.contents ?? '').length
}

/** Whether both entries know an error of one of them, in CommonJS. */
async function answersOf(cwd: string) {
  const program = `
    const { isChatError } = require('@parley/client')
    const { createApi } = require('@parley/client/api')
    const server = require('@parley/client/server')
    const fetch = async () => new Response('{}', { status: 503 })
    createApi({ url: 'http://test', fetch }).service.live().catch((error) =>
      console.log([isChatError(error), server.isChatError(error, 'UNAVAILABLE')].join()))`
  const args = ['--input-type=commonjs', '--eval', program]
  return (await run(process.execPath, args, { cwd })).stdout.trim()
}

const IMPORT = /^[^"'\n]*(?:from|import) "([^"]+)";$/gm
/** The names that the files of a folder import. */
const importsOf = (folder: string) =>
  readdirSync(folder)
    .filter((file) => file.endsWith('.js'))
    .flatMap((file) => [...readFileSync(join(folder, file), 'utf8').matchAll(IMPORT)])
    .map(([, name = '']) => name)
