import { DeadlineError } from '../db/client.ts'
import { type AdmissionLoad, AdmissionLoads, type AdmittedCaller } from './admission-loads.ts'
import { ApiError } from './errors.ts'
import { createLoopWatch } from './loop-watch.ts'
import type { Metrics } from './metrics.ts'

export type AdmissionRequest = AdmittedCaller & {
  /** The deadline, by `performance.now()`: an answer after it is of no use to the caller. */
  until: number
  gone?: Gone | undefined
}
/** Reports to waiting calls that their caller has gone away: cheaper than an AbortSignal. */
export type Gone = {
  readonly isOver: boolean
  add: (leave: () => void) => void
  delete: (leave: () => void) => void
}
/** Runs work once its caller may use another connection. */
export type Admit = <T>(request: AdmissionRequest, work: () => Promise<T>) => Promise<T>

/** A call was not admitted: its queue is full, or its caller has gone away. */
export class AdmissionError extends ApiError {
  override readonly name = 'AdmissionError'

  constructor(message: string) {
    super('UNAVAILABLE', message, 1)
  }
}

type AdmissionOptions = {
  poolSize: number
  metrics: Pick<Metrics, 'callsWaiting' | 'callsRefused'>
  isLoopBusy?: () => boolean
}

/**
 * Divides the pool fairly: an app uses at most half of its connections, and a user about half of
 * those. So a tenant whose every call waits in the database leaves half of the pool to others, and
 * a user leaves the rest to their colleagues: of three connections or more at least one, also while
 * batches that began with their messages wait for locks. Further calls wait: the callers of an app
 * take turns, and the calls of one caller keep their order.
 *
 * Work that was admitted must not ask for another admission: it could wait for itself.
 */
export function createAdmission({
  poolSize,
  metrics,
  isLoopBusy = createLoopWatch(),
}: AdmissionOptions): Admit {
  const loads = new AdmissionLoads(poolSize, isLoopBusy)

  const countRefusal = <E extends Error>(reason: 'full' | 'late' | 'gone', error: E) => {
    metrics.callsRefused.inc({ reason })
    return error
  }
  const wait = (request: AdmissionRequest, { app, caller }: AdmissionLoad) =>
    new Promise<void>((resolve, reject) => {
      const { gone } = request
      const leave = () => {
        caller.waiting.delete(admit)
        app.waiting -= 1
        metrics.callsWaiting.dec()
        clearTimeout(timer)
        gone?.delete(leaveAsGone)
      }
      const admit = () => {
        leave()
        loads.start({ app, caller })
        resolve()
      }
      const leaveWith = (error: Error) => {
        leave()
        loads.forgetIdle(request, { app, caller })
        reject(error)
      }
      const leaveAsGone = () =>
        leaveWith(countRefusal('gone', new AdmissionError('The caller has gone away')))
      const leaveAsLate = () => leaveWith(countRefusal('late', new DeadlineError()))
      const timer = setTimeout(leaveAsLate, request.until - performance.now())
      caller.waiting.add(admit)
      app.waiting += 1
      metrics.callsWaiting.inc()
      if (gone?.isOver) leaveAsGone()
      else gone?.add(leaveAsGone)
    })

  return async (request, work) => {
    const load = loads.of(request)
    loads.admitWaiting(load.app)
    if (loads.hasRoom(load)) loads.start(load)
    else if (loads.isFull(request, load)) {
      loads.forgetIdle(request, load)
      throw countRefusal('full', new AdmissionError(FULL))
    } else await wait(request, load)
    try {
      return await work()
    } finally {
      loads.finish(request, load)
    }
  }
}

export const FULL = 'Too many calls are waiting; try again later'
