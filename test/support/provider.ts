import type { ServerResponse } from 'node:http'
import { expect } from 'vitest'
import { bodyOf, serveLocally } from './local-server.ts'
import { createNovu, triggersOf } from './novu.ts'
import { leakIn } from './twin/index.ts'

export type Call = {
  method: string
  path: string
  key: string | undefined
  traceparent: string
  body: Record<string, unknown>
  at: number
}
type Behaviour = (response: ServerResponse, call: Call) => void

/** A fake push provider: it records calls, and answers as Novu does, or as the test wants. */
export async function serveProvider() {
  const calls: Call[] = []
  const leaks: string[] = []
  const { answer: answerAsNovu, subscribers, decide } = createNovu()
  const accept: Behaviour = (response, call) => {
    const { status, body } = answerAsNovu(call)
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  }
  let current = accept
  const server = await serveLocally(async (request, response) => {
    const text = await bodyOf(request)
    // A call whose sender went away in the middle does not count.
    if (text === undefined) return
    const call = {
      method: request.method ?? '',
      path: request.url ?? '',
      key: request.headers.authorization,
      traceparent: String(request.headers.traceparent),
      body: text ? JSON.parse(text) : {},
      at: Date.now(),
    }
    calls.push(call)
    const leak = leakIn(text)
    if (leak !== undefined) leaks.push(leak)
    current(response, call)
  })
  const triggered = () =>
    calls.filter(({ path }) => path.startsWith('/v1/events/trigger')).flatMap(triggersOf)
  return {
    calls,
    /** The calls, without their keys and times. */
    requests: () => calls.map(({ method, path, body }) => ({ method, path, body })),
    subscribers,
    accept,
    decide,
    /** Every push that was sent, repeats included. */
    triggered,
    /** The kinds of the pushes to one user. */
    kindsFor: (userId: string) =>
      triggered().flatMap(({ to, name }) => (to === userId ? [name] : [])),
    settings: {
      secretKey: 'secret-of-the-tests',
      apiUrl: server.url,
      tenantId: undefined as string | undefined,
      workflows: {
        'new-message': 'new-message',
        mention: 'mention',
        'channel-invite': 'channel-invite',
        reaction: 'reaction',
        'thread-reply': 'thread-reply',
      },
    },
    /** Answers the calls from now on; without an argument, as Novu does. */
    behave: (behaviour: Behaviour = accept) => {
      current = behaviour
    },
    answer:
      (status: number, headers: Record<string, string> = {}): Behaviour =>
      (response) =>
        response.writeHead(status, headers).end('{"message":"as the test wants"}'),
    forget: () => calls.splice(0),
    stop: async () => {
      await server.stop()
      expect(leaks, 'pushed of another app with the same user ids').toEqual([])
    },
  }
}
