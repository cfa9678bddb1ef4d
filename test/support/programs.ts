import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { build } from 'vite'
import type { TestProject } from 'vitest/node'

const root = join(import.meta.dirname, '../..')

/** The programs that tests start in processes of their own. */
const programs = {
  parley: 'server/bin/parley.ts',
  'embedded-postgres': 'server/db/embedded/index.ts',
}

/** Bundles the programs, once for a run. */
export async function providePrograms(project: TestProject) {
  const { folder, remove } = await bundlePrograms()
  project.provide('programs', folder)
  return async () => remove()
}

/**
 * A bundle starts in a fifth of the processor time that tsx needs for the sources: the hundreds of
 * files of its packages are in it. Files that a package reads at run time lie where it finds them
 * from the folder of the bundle.
 */
export async function bundlePrograms(others: Record<string, string> = {}) {
  const parent = join(root, 'server/node_modules/.parley-test')
  mkdirSync(parent, { recursive: true })
  const folder = mkdtempSync(join(parent, 'programs-'))
  const input = Object.fromEntries(
    Object.entries({ ...programs, ...others }).map(([program, file]) => [
      program,
      join(root, file),
    ]),
  )
  await build({
    root,
    configFile: false,
    envDir: false,
    publicDir: false,
    logLevel: 'error',
    plugins: [{ name: 'source-urls', enforce: 'pre', transform: withSourceUrl }],
    ssr: {
      noExternal: true,
      resolve: { conditions: ['parley-source', 'node', 'module'] },
    },
    build: {
      ssr: true,
      target: 'node20',
      minify: false,
      outDir: folder,
      rolldownOptions: {
        input,
        output: { entryFileNames: '[name].mjs', chunkFileNames: '[name]-[hash].mjs' },
      },
    },
  })
  return { folder, remove: () => rmSync(folder, { recursive: true }) }
}

/** A bundled module finds migrations, packages and the like where its source finds them. */
const withSourceUrl = (code: string, id: string) =>
  code
    .replaceAll('import.meta.url', JSON.stringify(pathToFileURL(id).href))
    .replaceAll(/\b__dirname\b/g, JSON.stringify(dirname(id)))
    .replaceAll(/\b__filename\b/g, JSON.stringify(id))
