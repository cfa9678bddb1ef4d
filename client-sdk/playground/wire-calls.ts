import type { WireRecorder } from './wire-log.ts'
import { toPayload, withoutTokens } from './wire-redact.ts'

/** A `fetch` that records each call: what was sent, what came back, and how long it took. */
export const recordCalls =
  (call: typeof fetch, recorder: WireRecorder): typeof fetch =>
  async (input, init = {}) => {
    const { method = 'GET', body } = init
    const start = performance.now()
    const request = typeof body === 'string' ? toPayload(body) : undefined
    const path = pathOf(input)
    // These take the place of a WebSocket: an answer that never ends, and short commands.
    if (/^\/(connection\/|emulation$)/.test(path)) return call(input, init)
    const change = recorder.add({
      kind: 'call',
      name: `${method} ${path}`,
      payload: { path, request },
    })
    const end = (outcome: { isGood: boolean; text: string }, response: unknown) =>
      change({
        outcome: { ...outcome, ms: performance.now() - start },
        payload: { path, request, response },
      })
    try {
      const response = await call(input, init)
      const outcome = { isGood: response.ok, text: String(response.status) }
      // The caller reads the response; this is a copy.
      const text = response.clone().text()
      void text.then(
        (copy) => end(outcome, toPayload(copy)),
        (error) => end({ isGood: false, text: 'broken off' }, String(error)),
      )
      return response
    } catch (error) {
      const isAborted = init.signal?.aborted === true
      end({ isGood: false, text: isAborted ? 'aborted' : 'no network' }, String(error))
      throw error
    }
  }

function pathOf(input: Parameters<typeof fetch>[0]) {
  const { pathname, search } = new URL(input instanceof Request ? input.url : input, location.href)
  return withoutTokens(pathname + decodeURIComponent(search))
}
