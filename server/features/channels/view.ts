import { type Channel, limits } from '@parley/contract'
import type { Tx } from '../../db/client.ts'
import { selectMessagePage } from '../messages/page.ts'
import { type ChannelQuery, type ChannelViewRow, selectChannelRows, toChannel } from './rows.ts'

/**
 * Channels as the viewer sees them, or the backend, in two statements: the channels with
 * unread counts, then their last messages. `page` is a condition on channel `c` and the viewer's
 * member row `m`, and may end in order and limit. As many as an answer has room for, but at least
 * one; `found` counts all of them, `bytes` those of the answer; `settingsVersion` is the version of
 * all their settings.
 */
export async function selectChannels(db: Tx, query: ChannelQuery) {
  const rows = await selectChannelRows(db, query)
  const read = measure(rows)
  const last = await selectLastMessages(db, query.viewer, read)
  const shown: ShownChannel[] = []
  let bytes = 0
  for (const { channel, json, lastMessageId } of read) {
    const found = last.messages.get(lastMessageId ?? '')
    if (last.isCut && lastMessageId !== null && !found) break
    const text = `${json.slice(0, -1)},"lastMessage":${found?.json ?? null}}`
    const end = bytes + Buffer.byteLength(text) + AROUND_BYTES
    if (shown.length > 0 && end > limits.answerBytes) break
    shown.push({ channel: { ...channel, lastMessage: found?.message ?? null }, json: text })
    bytes = end
  }
  const [, found = 0, , settingsVersion = 0] = rows[0] ?? []
  return { shown, channels: shown.map(({ channel }) => channel), found, settingsVersion, bytes }
}

/** A channel, and its JSON. */
type ShownChannel = { channel: Channel; json: string }
type MeasuredChannel = {
  channel: Omit<Channel, 'lastMessage'>
  json: string
  lastMessageId: string | null
  /** The size of the answer up to it, without last messages. */
  bytes: number
}

/** What an answer says of a channel beside it, at most. */
const AROUND_BYTES = 100

/** As many channels as an answer has room for, but at least one. */
function measure(rows: ChannelViewRow[]): MeasuredChannel[] {
  const measured: MeasuredChannel[] = []
  let bytes = 0
  for (const [, , lastMessageId, , ...row] of rows) {
    const channel = toChannel(row)
    const json = JSON.stringify(channel)
    bytes += Buffer.byteLength(json) + AROUND_BYTES
    if (measured.length > 0 && bytes > limits.answerBytes) break
    measured.push({ channel, json, lastMessageId, bytes })
  }
  return measured
}

/** The last messages of channels, in their order, as many as there is room for beside these. */
async function selectLastMessages(db: Tx, viewer: string | null, channels: MeasuredChannel[]) {
  const filled = channels.filter(({ lastMessageId }) => lastMessageId !== null)
  if (filled.length === 0) return { messages: new Map<string, never>(), isCut: false, bytes: 0 }
  const ids = filled.map(({ lastMessageId }) => lastMessageId)
  const rows = db`
    select msg.*, given.place as channel_place
    from unnest(${ids}::uuid[])
      with ordinality as given (id, place)
    join messages msg on msg.id = given.id`
  const { shown, found, bytes } = await selectMessagePage(db, {
    viewer,
    rows,
    order: db`page.channel_place`,
    bytesBefore: (place) => filled[place - 1]?.bytes ?? 0,
  })
  const messages = new Map(shown.map((one) => [one.message.id, one]))
  return { messages, isCut: shown.length < found, bytes }
}

/** A channel as a user who has just joined sees it, without its last message. */
export async function viewForNewMember(db: Tx, { appId, id }: { appId: string; id: string }) {
  const rows = await selectChannelRows(db, { appId, viewer: null, page: db`c.id = ${id}` })
  return measure(rows)[0]?.channel
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
