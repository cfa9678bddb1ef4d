import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

export type PageName = 'playground' | 'console' | 'docs'
/** The content of a page's files, by name: bytes, of which no reader needs a copy. */
export type Bundle = ReadonlyMap<string, Buffer>

const pathOf = (file: string) => fileURLToPath(new URL(file, import.meta.url))

/** A page: as `npm run build` bundled it, or else bundled from its sources. */
export async function bundlePage(page: PageName): Promise<Bundle> {
  const built = pathOf(`./${page}.json`)
  const files = existsSync(built) ? await readFile(built, 'utf8') : await bundleSources(page)
  const texts: [string, string][] = JSON.parse(files)
  return new Map(texts.map(([name, text]) => [name, Buffer.from(text)]))
}

/** In a separate process: it delays no calls, and its memory is freed. */
async function bundleSources(page: PageName) {
  const buildScript = pathOf('../../client-sdk/scripts/build-page.js')
  const { stdout } = await promisify(execFile)(process.execPath, [buildScript, page], {
    maxBuffer: Number.POSITIVE_INFINITY,
  })
  return stdout
}
