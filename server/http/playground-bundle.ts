import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

/** The files of a page by name. */
export type Bundle = ReadonlyMap<string, string>

/** Has the playground bundled, by a process of its own: nobody's call waits for it, and what it takes is given back. */
export async function bundlePlayground(): Promise<Bundle> {
  const build = fileURLToPath(new URL('../../client-sdk/playground/build.js', import.meta.url))
  const { stdout } = await promisify(execFile)(process.execPath, [build], {
    maxBuffer: Number.POSITIVE_INFINITY,
  })
  return new Map(JSON.parse(stdout))
}
