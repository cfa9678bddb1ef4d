import { isDeepStrictEqual } from 'node:util'
import { type Api, type CallOptions, type Credentials, createApi } from '@parley/client/api'
import { contract, ErrorBody, errorStatus, type Operation } from '@parley/contract'
import { errorAnswers } from '@parley/server/http/openapi/responses'
import { expect } from 'vitest'
import { type QuickRequest, quickFetch } from './quick-fetch.ts'
import { unhurried } from './until.ts'

/** Every operation of the contract, as `noun.name`. */
export const operations = Object.entries<Record<string, Operation>>(contract).flatMap(
  ([noun, group]) => Object.entries(group).map(([name, op]) => [`${noun}.${name}`, op] as const),
)

/** `userId`: the user as whom a backend calls, with its `apiKey`. */
export type CallerCredentials = Credentials & { userId?: string }

/** A client that checks every answer against the contract, refusals included. */
export function createValidatedApi({
  userId,
  ...options
}: CallerCredentials & { url: string }): Api {
  const idle: RecordedApi[] = []
  const checked = (noun: string, name: string, op: Operation) => async (args: unknown) => {
    const recorded = idle.pop() ?? recordedApi({ userId, ...options })
    recorded.answer = undefined
    // The client is as patient as the server: the last of many calls waits for all others.
    const patience = { timeoutMs: unhurried.callMs }
    const [result] = await Promise.allSettled([recorded.api[noun]?.[name]?.(args, patience)])
    const { answer } = recorded
    if (answer) {
      // Without one it may still come, amid another call.
      idle.push(recorded)
      expectAnswer(op, answer)
    }
    if (result.status === 'rejected') throw result.reason
    if (!answer) throw new Error(`${noun}.${name} was not answered, or not read as text`)
    return result.value
  }
  return Object.fromEntries(
    Object.entries<Record<string, Operation>>(contract).map(([noun, group]) => [
      noun,
      Object.fromEntries(
        Object.entries(group).map(([name, op]) => [name, checked(noun, name, op)]),
      ),
    ]),
  ) as unknown as Api // the same groups and names
}

type Answer = { status: number; body: string }
type Calls = Record<string, Record<string, (args: unknown, options: CallOptions) => unknown>>
/** A client that makes one call at a time, and the answer to its last one. */
type RecordedApi = { api: Calls; answer?: Answer | undefined }

function recordedApi({ userId, ...options }: CallerCredentials & { url: string }) {
  const actingAs: Record<string, string> = userId === undefined ? {} : { 'x-user-id': userId }
  const fetch = async (url: unknown, init: unknown) => {
    const request = init as QuickRequest // as the client makes them
    const headers = { ...request.headers, ...actingAs }
    const response = await quickFetch(String(url), { ...request, headers })
    const body = await response.text()
    recorded.answer = { status: response.status, body }
    return Object.assign(response, { text: async () => body })
  }
  const api = createApi({ ...options, fetch }) as never as Calls // by name
  const recorded: RecordedApi = { api }
  return recorded
}

/**
 * Expects a success to match the operation's schema exactly, at any depth, and a refusal to be a
 * documented one in the one form of errors.
 */
export function expectAnswer(op: Operation, { status, body }: { status: number; body: string }) {
  const answer: unknown = JSON.parse(body)
  if (status < 400) {
    const expected = { status: op.status ?? 200, answer: op.output.parse(answer) }
    // Comparing with `expect` takes many times longer: it says how they differ.
    if (!isDeepStrictEqual({ status, answer }, expected))
      expect({ status, answer }).toStrictEqual(expected)
    return
  }
  const { error } = ErrorBody.parse(answer)
  const { code, message } = error
  const isKnown = status === errorStatus[code] && documented(op).has(String(status))
  if (isKnown && /./.test(message) && isDeepStrictEqual(answer, { error: { code, message } }))
    return
  expect(answer).toStrictEqual({ error: { code, message: expect.stringMatching(/./) } })
  expect(status, body).toBe(errorStatus[code])
  expect([...documented(op)], `${op.method} ${op.path} answers ${body}`).toContain(String(status))
}

const statuses = new Map<Operation, Set<string>>()
/** The refusals of an operation that its document names. */
function documented(op: Operation) {
  const known = statuses.get(op) ?? new Set(Object.keys(errorAnswers(op)))
  statuses.set(op, known)
  return known
}
