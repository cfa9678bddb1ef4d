import { limits } from '@parley/contract'
import { afterAll, beforeAll, expect } from 'vitest'
import { post } from '../support/raw.ts'
import type { User, World } from '../support/world.ts'

/**
 * Requests of exact bytes by ana, who has a channel. The server must be healthy after all tests of
 * a file.
 */
export function useRequests(world: () => World) {
  let ana: User
  let messagesPath: string
  beforeAll(async () => {
    ana = await world().user('ana')
    const { id } = await ana.channels.create({ type: 'group', name: 'Talk' })
    messagesPath = `/api/channels/${id}/messages`
  })
  const authorization = () => ({ Authorization: `Bearer ${ana.token}` })
  const json = () => ({ ...authorization(), 'Content-Type': 'application/json' })
  const send = (path: string, options: Parameters<typeof post>[2] = {}) =>
    post(world().url, path, options)
  afterAll(async () => {
    const { body } = await send('/health', { method: 'GET' })
    expect(JSON.parse(body)).toEqual({
      status: 'ok',
      version: limits.apiVersion,
      checks: { database: 'ok' },
    })
  })
  return {
    /** The path of the messages of ana's channel. */
    messages: () => messagesPath,
    authorization,
    json,
    send,
    sendJson: (path: string, body: string | Buffer) => send(path, { headers: json(), body }),
    get: (path: string) => send(path, { method: 'GET', headers: authorization() }),
  }
}

export const channels = '/api/channels'

export const toLines = (headers: Record<string, string>) =>
  Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join('')
