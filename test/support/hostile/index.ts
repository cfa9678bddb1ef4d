import { ErrorBody, errorStatus, type Operation, pathParameters } from '@parley/contract'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Answer } from '../raw.ts'
import { expectAnswer, operations } from '../validated.ts'
import type { World } from '../world.ts'
import { createFixtures, type Fixture, fixtureFor, withIds } from './fixture.ts'
import { plainRequest, type Request, requestsFor } from './requests.ts'
import { ask, expectForm, hasBody, headersOf, json, percent, toText } from './wire.ts'

/**
 * After this number of requests everything that can be deleted is gone, and a new fixture is made.
 */
const RUNS_PER_FIXTURE = 60

/**
 * One test for each operation, with `requests` requests in all: none causes a server error,
 * refusals have their documented form, invalid input is always refused, and answers match the
 * contract. The seed is printed and returned; HOSTILE_SEED repeats a run.
 */
export function testHostileRequests(world: () => World, requests: number) {
  const seed = Number(process.env.HOSTILE_SEED ?? Math.floor(Math.random() * 2 ** 31))
  const numRuns = Math.ceil(requests / operations.length)
  console.log(`${numRuns * operations.length} hostile requests: HOSTILE_SEED=${seed}`)
  const fixtureOf = createFixtures(world, isRead)
  test.each(operations)(`%s withstands ${numRuns} hostile requests`, async (id, op) => {
    let fixture = await fixtureOf(id, op)
    let runs = 0
    let served = 0
    const property = fc.asyncProperty(requestsFor(id, op), async (request) => {
      if (++runs % RUNS_PER_FIXTURE === 0 && !isRead(op))
        fixture = await fixtureFor(world(), id, op)
      if (await withstands(world(), { id, op, request, fixture })) served += 1
    })
    await fc.assert(property, { seed, numRuns, examples: [[plainRequest(id, op)]] })
    expect(served).toBeGreaterThan(0)
  })
  return seed
}

const isRead = ({ method }: Operation) => method === 'GET'

type Trial = { id: string; op: Operation; request: Request; fixture: Fixture }

/** Whether the request was carried out. */
export async function withstands(world: World, { id, op, request, fixture }: Trial) {
  const given = withIds(request.args, fixture)
  const args = request.via === 'rest' ? { ...given, ...inPath(op, given) } : given
  const callers = fixture.credentials[op.auth]
  const headers = headersOf(callers[request.caller % callers.length] ?? {})
  const answer = await (request.via === 'rest' ? viaRest : viaTrpc)(world.url, {
    id,
    op,
    args,
    headers,
  })
  const refusal = expectForm(answer)
  // Without a part the path may lead elsewhere.
  if (request.via === 'rest' && pathParameters(op.path).some((name) => args[name] === ''))
    return false
  expectAnswer(op, answer)
  const isTyped = request.via === 'trpc' || hasBody(op) // a query says everything in strings
  const isInvalid = isTyped && !op.input.safeParse(args).success
  if (isInvalid && answer.status !== 404) expect(answer).toMatchObject({ status: 400 })
  return refusal === undefined
}

/** The path parameters of a call, as text. */
const inPath = ({ path }: Operation, args: Record<string, unknown>) =>
  Object.fromEntries(pathParameters(path).map((name) => [name, toText(args[name])]))

type HostileCall = {
  id: string
  op: Operation
  args: Record<string, unknown>
  headers: Record<string, string>
}

function viaRest(url: string, { op, args, headers }: HostileCall) {
  const rest = Object.fromEntries(
    Object.entries(args).filter(([name]) => !pathParameters(op.path).includes(name)),
  )
  const path = op.path.replace(/\{(\w+)\}/g, (_, name: string) => percent(toText(args[name])))
  if (hasBody(op))
    return ask(url, {
      method: op.method,
      path,
      headers: { ...headers, ...json },
      body: JSON.stringify(rest),
    })
  const query = Object.entries(rest).map(
    ([name, value]) => `${percent(name)}=${percent(toText(value))}`,
  )
  return ask(url, {
    method: op.method,
    path: query.length === 0 ? path : `${path}?${query.join('&')}`,
    headers,
  })
}

/** The answer as REST would give it. */
async function viaTrpc(url: string, { id, op, args, headers }: HostileCall): Promise<Answer> {
  const input = JSON.stringify(args)
  const answer = await (op.method === 'GET'
    ? ask(url, { method: 'GET', path: `/trpc/${id}?input=${percent(input)}`, headers })
    : ask(url, {
        method: 'POST',
        path: `/trpc/${id}`,
        headers: { ...headers, ...json },
        body: input,
      }))
  const { result, error } = JSON.parse(answer.body)
  const said = {
    ...answer,
    headers: { ...answer.headers, 'content-type': 'application/json; charset=utf-8' },
  }
  if (answer.status < 400)
    return { ...said, status: op.status ?? 200, body: JSON.stringify(result.data) }
  expect(error.data).toEqual({ code: error.data.code, httpStatus: answer.status, path: id })
  expect(errorStatus).toHaveProperty(error.data.code, answer.status)
  return {
    ...said,
    body: JSON.stringify(
      ErrorBody.parse({ error: { message: error.message, code: error.data.code } }),
    ),
  }
}
