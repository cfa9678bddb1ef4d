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

export type Direction = 'before' | 'after'
type Walk = { path: string; direction: Direction; start?: string | undefined }
type Page = { messages: { id: string; seq: number }[]; hasMore: boolean }

/** The seqs of a list read from its end to its beginning, or the other way, by page. */
export async function walkBounded(
  world: Pick<World, 'url'>,
  user: Pick<User, 'token'>,
  { path, direction, start = '' }: Walk,
) {
  const pages: number[][] = []
  let cursor = start
  for (let hasMore = true; hasMore; ) {
    const from = cursor === '' ? '' : `&${direction}=${cursor}`
    const page = await askBounded<Page>(world, user, { path: `${path}?limit=200${from}` })
    const seqs = page.messages.map(({ seq }) => seq)
    expect(seqs.length).toBeGreaterThan(0)
    pages.push(seqs)
    cursor = page.messages.at(direction === 'before' ? 0 : -1)?.id ?? ''
    hasMore = page.hasMore
  }
  return pages
}
