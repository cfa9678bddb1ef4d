import { Worker } from 'node:worker_threads'

/** The files of a page by name. */
export type Bundle = ReadonlyMap<string, string | Uint8Array>

/**
 * Has the playground bundled, in a thread of its own: what the bundler loads is gone afterwards, what it does to the
 * environment stays there, and nobody's call waits for it.
 */
export const bundlePlayground = () =>
  new Promise<Bundle>((resolve, reject) => {
    // Plain JavaScript: on Node.js 20 threads know no other.
    const worker = new Worker(new URL('../../client-sdk/playground/build.js', import.meta.url), { execArgv: [] })
    worker.once('message', resolve)
    worker.once('error', reject)
    worker.once('exit', () => reject(new Error('the bundler ended without a bundle')))
  })
