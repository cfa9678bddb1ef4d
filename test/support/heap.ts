import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

setFlagsFromString('--expose-gc')
export const collectGarbage = runInNewContext('gc') as () => void // by the flag

/** Bytes of this process's heap that are still in use, after a garbage collection. */
export function heapInUse() {
  collectGarbage()
  return process.memoryUsage().heapUsed
}
