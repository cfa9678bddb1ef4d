import { type AdmissionRequest, createAdmission } from '@parley/server/core/admission'
import { createMetrics } from '@parley/server/core/metrics'

export const inAMinute = () => performance.now() + 60_000
export const user = (userId: string, appId = 'app') => ({ appId, userId, until: inAMinute() })
export const backend = (appId = 'app') => ({ appId, queue: 'calls' as const, until: inAMinute() })

/** Calls to a pool that last until `end`. */
export function callsTo(poolSize: number, isLoopBusy = () => false) {
  const metrics = createMetrics()
  const admit = createAdmission({ poolSize, metrics, isLoopBusy })
  const started: string[] = []
  const ends = new Map<string, () => void>()
  const call = (name: string, from: AdmissionRequest) => {
    const work = () => {
      started.push(name)
      return new Promise<void>((resolve) => ends.set(name, resolve))
    }
    const done = admit(from, work)
    done.catch(() => {})
    return done
  }
  const many = (name: string, count: number, from: () => AdmissionRequest) =>
    Array.from({ length: count }, (_, index) => call(`${name}${index + 1}`, from()))
  /** Ends a call; resolves once those whom it made room for have started. */
  const end = async (name: string) => {
    ends.get(name)?.()
    await new Promise(setImmediate)
  }
  const waiting = async () => (await metrics.callsWaiting.get()).values[0]?.value
  const refused = async () =>
    (await metrics.callsRefused.get()).values.map(({ labels, value }) => [labels.reason, value])
  return { call, many, end, started, waiting, refused }
}
