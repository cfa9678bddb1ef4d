import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

/** The content of the page's files, by name. */
export type Bundle = ReadonlyMap<string, string>

/** Bundles the playground in a separate process: it delays no calls, and its memory is freed. */
export async function bundlePlayground(): Promise<Bundle> {
  const buildScript = fileURLToPath(
    new URL('../../client-sdk/playground/build.js', import.meta.url),
  )
  const { stdout } = await promisify(execFile)(process.execPath, [buildScript], {
    maxBuffer: Number.POSITIVE_INFINITY,
  })
  return new Map(JSON.parse(stdout))
}
