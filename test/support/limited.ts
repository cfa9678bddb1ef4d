import { expect, onTestFinished } from 'vitest'
import { type Answer, expectError, post } from './raw.ts'
import { createWorld, type User, type World } from './world.ts'

export const none = { tokens: 0, messages: 0, requests: 0 }

/** A world with rate limits, for one test. */
export const limited = async (options: Parameters<typeof createWorld>[0]) => {
  const world = await createWorld(options)
  onTestFinished(world.stop)
  return world
}
export const asUser = (
  world: World,
  { token }: User,
  path: string,
  { method = 'GET', body = '' } = {},
) =>
  post(world.url, path, {
    method,
    body,
    headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
  })
export const mint = (world: World, headers: Record<string, string> = {}) =>
  post(world.url, '/tokens', {
    headers: { 'X-API-Key': world.apiKey, 'Content-Type': 'application/json', ...headers },
    body: '{"userId":"ana"}',
  })
export const count = (answers: { status: number }[], status: number) =>
  answers.filter((answer) => answer.status === status).length
export const talk = async (world: World) => {
  const [ana, ben] = await world.users('ana', 'ben')
  const { id } = await ana.channels.create({ type: 'group', name: 'Talk', memberIds: ['ben'] })
  const path = `/api/channels/${id}/messages`
  const send = (user: User, message: object) =>
    asUser(world, user, path, { method: 'POST', body: JSON.stringify(message) })
  return { ana, ben, id, path, send }
}

/** Expects a refusal over a limit, which its headers show. */
export function expectOverLimit(answer: Answer | undefined, limit: string) {
  if (!answer) throw new Error('no call was refused')
  expectError(answer, 'RATE_LIMITED')
  expect(answer.headers).toMatchObject({
    'retry-after': expect.stringMatching(/^(60|[345]\d)$/),
    'ratelimit-limit': limit,
    'ratelimit-remaining': '0',
    'ratelimit-reset': answer.headers['retry-after'],
  })
}
