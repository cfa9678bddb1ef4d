import { type HeapProfiler, Session } from 'node:inspector'

/** The frames of what a call runs on this side: our server, and its database client. */
const isOurs = ({ url }: { url: string }) =>
  /\/server\/(?!node_modules)|\/postgres\/src\//.test(url)

/**
 * How many bytes of memory the server's code allocates while `work` runs, those included that are
 * collected meanwhile: estimated from a sample of each eight kilobytes.
 */
export async function allocatedBy(work: () => Promise<unknown>): Promise<number> {
  const session = new Session()
  session.connect()
  const options = {
    samplingInterval: 8 * 1024,
    includeObjectsCollectedByMajorGC: true,
    includeObjectsCollectedByMinorGC: true,
  }
  try {
    await post((done) => session.post('HeapProfiler.startSampling', options, done))
    await work()
    const sampled = await post<HeapProfiler.StopSamplingReturnType>((done) =>
      session.post('HeapProfiler.stopSampling', done),
    )
    return bytesOf(sampled.profile.head, false)
  } finally {
    session.disconnect()
  }
}

const post = <T>(send: (done: (error: Error | null, answer: T) => void) => void) =>
  new Promise<T>((resolve, reject) =>
    send((error, answer) => (error ? reject(error) : resolve(answer))),
  )

function bytesOf(node: HeapProfiler.SamplingHeapProfileNode, isBelow: boolean): number {
  const counts = isBelow || isOurs(node.callFrame)
  const below = node.children.map((child) => bytesOf(child, counts))
  return below.reduce((sum, bytes) => sum + bytes, counts ? node.selfSize : 0)
}
