import { createChatServer, type ImportRecord } from '@parley/client/server'
import { idOf } from '@parley/server/features/imports/records'
import { expect } from 'vitest'
import type { World } from '../support/world.ts'
import { wrongCounters } from './counters.ts'

/** The time of a minute of the history that tests import. */
export const at = (minute: number) => new Date(Date.UTC(2024, 4, 1, 9, minute)).toISOString()

export const user = (id: string, fields = {}): ImportRecord => ({ record: 'user', id, ...fields })
export const channel = (id: string, fields = {}): ImportRecord =>
  ({ record: 'channel', id, type: 'group', name: id, createdAt: at(0), ...fields }) as ImportRecord
export const member = (channelId: string, userId: string, fields = {}): ImportRecord => ({
  record: 'member',
  channelId,
  userId,
  joinedAt: at(0),
  ...fields,
})
export const message = (id: string, channelId: string, fields = {}): ImportRecord => ({
  record: 'message',
  id,
  channelId,
  userId: 'ana',
  text: id,
  createdAt: at(1),
  ...fields,
})

export const importInto = (
  { url, apiKey }: Pick<World, 'url' | 'apiKey'>,
  records: Iterable<ImportRecord>,
) => createChatServer({ url, apiKey }).imports.run(records)

/** A body as it is, for what the client cannot express. */
export const post = async (
  { url, apiKey }: Pick<World, 'url' | 'apiKey'>,
  body: RequestInit['body'] | undefined,
  type = 'application/x-ndjson',
) => {
  const response = await fetch(`${url}/import`, {
    method: 'POST',
    headers: { 'x-api-key': apiKey, 'content-type': type },
    ...(body === undefined ? {} : { body }),
    duplex: 'half',
  })
  // biome-ignore lint/suspicious/noExplicitAny: tests look into reports and errors alike
  return { status: response.status, body: (await response.json()) as any }
}

export const channelIdOf = ({ appId }: { appId: string }, id: string) => idOf(appId, 'channel', id)
export const messageIdOf = ({ appId }: { appId: string }, id: string) => idOf(appId, 'message', id)

/** Every counter of the app's channels is what its rows say. */
export const expectExactCounters = async (app: Pick<World, 'db' | 'appId'>) =>
  expect(await wrongCounters(app)).toEqual({ channels: [], messages: [], members: [], silent: [] })
