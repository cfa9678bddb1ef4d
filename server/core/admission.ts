import { limits } from '@parley/contract'
import { DeadlineError } from '../db/client.ts'
import { ApiError } from './errors.ts'
import type { Metrics } from './metrics.ts'

/** Whom work is done for: a user, or an app, by its key or in batches. */
type AdmittedCaller = { appId: string } & ({ userId: string } | { lane: Lane })
/** Only calls are refused for the length of their queue: few batches of an app wait at a time. */
type Lane = 'calls' | 'sends' | 'subscribes'

export type AdmissionRequest = AdmittedCaller & {
  /** The deadline, by `performance.now()`: an answer after it is of no use to the caller. */
  until: number
  /** Aborts once the caller has gone away. A function, since few calls ever wait. */
  gone?: (() => AbortSignal) | undefined
}
/** Runs work once its caller may use another connection. */
export type Admit = <T>(request: AdmissionRequest, work: () => Promise<T>) => Promise<T>

/** A call was not admitted: its queue is full, or its caller has gone away. */
export class AdmissionError extends ApiError {
  constructor(message: string) {
    super('UNAVAILABLE', message, 1)
  }
}

type AppLoad = { running: number; waiting: number; callers: Map<string, CallerLoad> }
/** What a caller has running, and what waits, in the order in which it came. */
type CallerLoad = { atOnce: number; running: number; waiting: Set<() => void> }
/** The load of a caller and of their app. */
type Load = { app: AppLoad; caller: CallerLoad }

type AdmissionOptions = {
  poolSize: number
  metrics: Pick<Metrics, 'callsWaiting' | 'callsRefused'>
}

/**
 * Divides the pool fairly: an app uses at most half of its connections, and a user at most half of
 * those. So a tenant whose every call waits in the database leaves half of the pool to others, and
 * a user leaves the rest to their colleagues. What is more than that waits: the callers of an app
 * take turns, and the calls of one caller keep their order.
 *
 * Work that was admitted must not ask for another admission: it could wait for itself.
 */
export function createAdmission({ poolSize, metrics }: AdmissionOptions): Admit {
  const apps = new Map<string, AppLoad>()
  const perApp = Math.max(1, Math.floor(poolSize / 2))
  const perUser = Math.min(limits.callsAtOnce.user, Math.ceil(perApp / 2))

  const enter = (request: AdmissionRequest): Load => {
    const name = nameOf(request)
    const atOnce = 'userId' in request ? perUser : perApp
    const app = apps.get(request.appId) ?? { running: 0, waiting: 0, callers: new Map() }
    const caller = app.callers.get(name) ?? { atOnce, running: 0, waiting: new Set() }
    apps.set(request.appId, app)
    app.callers.set(name, caller)
    return { app, caller }
  }
  const forgetIdle = (request: AdmissionRequest, { app, caller }: Load) => {
    if (caller.running > 0 || caller.waiting.size > 0) return
    app.callers.delete(nameOf(request))
    if (app.callers.size === 0) apps.delete(request.appId)
  }
  const hasRoom = ({ app, caller }: Load) => app.running < perApp && caller.running < caller.atOnce
  const start = ({ app, caller }: Load) => {
    app.running += 1
    caller.running += 1
  }
  const admitNext = (app: AppLoad) => {
    for (const [name, caller] of app.callers) {
      const [admit] = caller.waiting
      if (!admit || !hasRoom({ app, caller })) continue
      // To the end: the others have their turn before the next call of this caller.
      app.callers.delete(name)
      app.callers.set(name, caller)
      return admit()
    }
  }
  const finish = (request: AdmissionRequest, load: Load) => {
    load.app.running -= 1
    load.caller.running -= 1
    admitNext(load.app)
    forgetIdle(request, load)
  }

  const refuse = <E extends Error>(reason: 'full' | 'late' | 'gone', error: E) => {
    metrics.callsRefused.inc({ reason })
    return error
  }
  const wait = (request: AdmissionRequest, { app, caller }: Load) =>
    new Promise<void>((resolve, reject) => {
      const gone = request.gone?.()
      const leave = () => {
        caller.waiting.delete(admit)
        app.waiting -= 1
        metrics.callsWaiting.dec()
        clearTimeout(timer)
        gone?.removeEventListener('abort', leaveAsGone)
      }
      const admit = () => {
        leave()
        start({ app, caller })
        resolve()
      }
      const leaveWith = (error: Error) => {
        leave()
        forgetIdle(request, { app, caller })
        reject(error)
      }
      const leaveAsGone = () =>
        leaveWith(refuse('gone', new AdmissionError('The caller has gone away')))
      const leaveAsLate = () => leaveWith(refuse('late', new DeadlineError()))
      const timer = setTimeout(leaveAsLate, request.until - performance.now())
      caller.waiting.add(admit)
      app.waiting += 1
      metrics.callsWaiting.inc()
      if (gone?.aborted) leaveAsGone()
      else gone?.addEventListener('abort', leaveAsGone)
    })

  return async (request, work) => {
    const load = enter(request)
    if (hasRoom(load)) start(load)
    else if (isFull(request, load)) throw refuse('full', new AdmissionError(FULL))
    else await wait(request, load)
    try {
      return await work()
    } finally {
      finish(request, load)
    }
  }
}

export const FULL = 'Too many calls are waiting; try again later'

const nameOf = (request: AdmissionRequest) =>
  'userId' in request ? `user ${request.userId}` : request.lane

function isFull(request: AdmissionRequest, { app, caller }: Load) {
  const { userWaiting, appWaiting } = limits.callsAtOnce
  if ('userId' in request) return caller.waiting.size >= userWaiting || app.waiting >= appWaiting
  return request.lane === 'calls' && app.waiting >= appWaiting
}
