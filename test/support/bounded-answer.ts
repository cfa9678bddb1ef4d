import { limits } from '@parley/contract'
import { expect } from 'vitest'
import type { User, World } from './world.ts'

/** Asks over REST as a user; fails if the answer has more bytes than one may have. */
export async function askBounded<T>(
  { url }: Pick<World, 'url'>,
  { token }: Pick<User, 'token'>,
  { path, body }: { path: string; body?: object | undefined },
): Promise<T> {
  const answer = await fetch(`${url}/api/${path}`, {
    method: body ? 'POST' : 'GET',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    ...(body ? { body: JSON.stringify(body) } : {}),
  })
  const text = await answer.text()
  expect(answer.status, text.slice(0, 200)).toBe(200)
  expect(Buffer.byteLength(text)).toBeLessThanOrEqual(limits.answerBytes)
  return JSON.parse(text)
}
