import { setTimeout as delay } from 'node:timers/promises'
import { type ChatErrorCode, isChatError } from '@parley/client'
import type { Random } from './random.ts'
import type { Rig } from './rig.ts'

type Caller = {
  random: Random
  /** The user, as whom the app's backend makes some of the calls. */
  userId?: string
}
type Refusal = {
  code: ChatErrorCode
  /** Whether the outcome of an earlier attempt is unknown. */
  isAmbiguous: boolean
  /** When the first attempt began. */
  startedAt: number
}
type Repeated = {
  name: string
  call: () => Promise<unknown>
  /** Whether the load expects this refusal. */
  isExpected?: (refusal: Refusal) => boolean
}

const CALL_MS = 14_000
const PAUSE_MS = 20
const ACTED = 0.2
const UNKNOWN: ChatErrorCode[] = ['UNAVAILABLE', 'NETWORK_ERROR', 'TIMEOUT', 'INTERNAL_ERROR']

/**
 * Sends each call to any node, and records it with its answer. Users make calls by their token, or
 * the app's backend makes them as the user, by its key, even repeats of the same call.
 */
export const recordingFetch =
  ({ nodes, history, now, apiKey }: Rig, { random, userId }: Caller) =>
  async (input: Parameters<typeof fetch>[0], init?: RequestInit) => {
    const node = random.pick(nodes)
    const { pathname, search } = new URL(String(input))
    const headers = new Headers(init?.headers)
    const isActed = userId !== undefined && random.fraction() < ACTED
    if (isActed) {
      headers.delete('authorization')
      headers.set('x-api-key', apiKey)
      headers.set('x-user-id', userId)
    }
    const record = (status: number | undefined, hasRetryAfter = false) =>
      history.calls.push({
        node: node.index,
        name: `${init?.method} ${pathname}`,
        startedAt,
        endedAt: now(),
        status,
        hasRetryAfter,
        isActed,
      })
    const startedAt = now()
    try {
      const response = await fetch(node.url + pathname + search, {
        ...init,
        headers,
        signal: AbortSignal.timeout(CALL_MS),
      })
      const body = await response.text()
      record(response.status, response.headers.has('retry-after'))
      return new Response(body, { status: response.status, headers: response.headers })
    } catch (error) {
      record(undefined)
      throw error
    }
  }

/** Repeats a call until its outcome is known. Returns whether it was done rather than refused. */
export async function untilKnown(rig: Rig, { name, call, isExpected = () => false }: Repeated) {
  const startedAt = rig.now()
  for (let isAmbiguous = false; ; isAmbiguous = true) {
    try {
      await call()
      return true
    } catch (error) {
      if (!isChatError(error)) throw error
      const { code } = error
      if (!UNKNOWN.includes(code)) {
        if (!isExpected({ code, isAmbiguous, startedAt })) rig.history.refusals.push({ name, code })
        return false
      }
      await delay(PAUSE_MS)
    }
  }
}
