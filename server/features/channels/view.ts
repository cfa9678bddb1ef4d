import { type Channel, limits } from '@parley/contract'
import type { Tx } from '../../db/client.ts'
import { type MessageRow, messageJson } from '../messages/message-json.ts'
import { type ChannelQuery, type ChannelView, channelJson, selectChannelRows } from './rows.ts'

/** The most bytes of an answer for a channel and its last message, besides the two. */
const AROUND_BYTES = 200
/** Where the columns of the channel and of its last message begin. */
const CHANNEL = 3
const MESSAGE = CHANNEL + (21 satisfies ChannelView['length'])

/**
 * Channels as the viewer or the backend sees them, as JSON, in one statement: as many as an answer
 * has room for, but at least one. `isCut`: the page has more; `bytes`: the size of the answer;
 * `settingsVersion`: the version of all their settings.
 */
export async function selectChannelTexts(db: Tx, query: ChannelQuery) {
  const rows = await selectChannelRows(db, query)
  const texts: string[] = []
  let bytes = 0
  for (const row of rows) {
    const channel = row.slice(CHANNEL, MESSAGE) as ChannelView // by the columns
    const message = row.slice(MESSAGE) as MessageRow // likewise
    const isEmpty = row[MESSAGE] === null
    const text = channelJson(channel, isEmpty ? 'null' : messageJson(message))
    const end = bytes + Buffer.byteLength(text) + AROUND_BYTES
    if (texts.length > 0 && end > limits.answerBytes) break
    texts.push(text)
    bytes = end
  }
  const isCut = texts.length < rows.length || rows.at(-1)?.[1] === true
  return { texts, isCut, settingsVersion: rows[0]?.[2] ?? 0, bytes }
}

/** The channels as objects. */
export async function selectChannels(db: Tx, query: ChannelQuery) {
  const { texts, ...page } = await selectChannelTexts(db, query)
  return { channels: texts.map((text): Channel => JSON.parse(text)), ...page }
}

/** A channel as a user who has just joined sees it, without its last message. */
export async function viewForNewMember(db: Tx, { appId, id }: { appId: string; id: string }) {
  const { channels } = await selectChannels(db, { appId, viewer: null, page: db`c.id = ${id}` })
  if (!channels[0]) return undefined
  const { lastMessage: _, ...channel } = channels[0]
  return channel
}

/** A channel as it is after events up to `rev` which change no message. */
export const atRev = <C extends Pick<Channel, 'rev' | 'unreadVersion'>>(
  channel: C,
  rev: number,
): C => ({
  ...channel,
  rev,
  unreadVersion: channel.unreadVersion + rev - channel.rev,
})
