import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

/** The content of the page's files, by name. */
export type Bundle = ReadonlyMap<string, string>

const pathOf = (file: string) => fileURLToPath(new URL(file, import.meta.url))

/** The playground: as `npm run build` bundled it, or else bundled from its sources. */
export async function bundlePlayground(): Promise<Bundle> {
  const built = pathOf('./playground.json')
  const files = existsSync(built) ? await readFile(built, 'utf8') : await bundleSources()
  return new Map(JSON.parse(files))
}

/** In a separate process: it delays no calls, and its memory is freed. */
async function bundleSources() {
  const buildScript = pathOf('../../client-sdk/playground/build.js')
  const { stdout } = await promisify(execFile)(process.execPath, [buildScript], {
    maxBuffer: Number.POSITIVE_INFINITY,
  })
  return stdout
}
