import { basename, join } from 'node:path'
import type { Plugin } from 'vitest/config'
// biome-ignore lint/style/noRestrictedImports: the build script is not part of the package
import { buildForBrowsers } from '../../client-sdk/scripts/browser-build.js'

const outdir = join(import.meta.dirname, '../../client-sdk/dist/browser')
/** The entries that it has. A backend's is not for browsers. */
const ENTRY = /^@parley\/client(?:\/(react|api|snapshots|testing))?$/
/** Dynamic imports: files that are loaded when they are needed. */
const LATER = /\bimport\("(\.\/[^"]+)"\)/g

/**
 * `@parley/client` as browsers load it: its internal names are shortened, and code that reaches
 * one of them by a string finds nothing. It is built in memory, since other tests build packages.
 */
export function browserBuild(): Plugin {
  let files = new Map<string, string>()
  return {
    name: 'browser-build',
    enforce: 'pre',
    async buildStart() {
      files = (await buildForBrowsers({ outdir, sourcemap: false })).files
      // Preloads the later files: a test with a stopped clock would wait for them.
      const index = join(outdir, 'index.js')
      const later = [...files.values()].flatMap((text) => [...text.matchAll(LATER)])
      const preloaded = later.map(([, path]) => `import '${path}'\n`).join('')
      files.set(index, `${preloaded}${files.get(index)}`)
    },
    resolveId(source, importer = '') {
      const [isEntry, entry = 'index'] = ENTRY.exec(source) ?? []
      if (isEntry) return join(outdir, `${entry}.js`)
      return files.has(importer) && source.startsWith('./')
        ? join(outdir, basename(source))
        : undefined
    },
    load: (id) => files.get(id),
  }
}
