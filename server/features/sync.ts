import { type Channel, type ChannelChanges, contract, limits, type Message } from '@parley/contract'
import { type Implements, implementWithoutTransaction } from '../core/operation.ts'
import type { Tx } from '../db/client.ts'
import { selectChannels } from './channels/view.ts'
import { selectMessages, toMessage } from './messages/view.ts'

/**
 * What happened since the revs that the caller knows, in three statements whatever the number of
 * channels. The channels are read first: what changes between the statements is returned twice
 * rather than never.
 */
const pull = implementWithoutTransaction(
  contract.sync.pull,
  async ({ db, caller: { appId, userId } }, { channels: knownRevs }) => {
    const ids = Object.keys(knownRevs)
    const page = db`c.id = any(${ids}::uuid[]) and m.user_id is not null`
    const channels = await selectChannels(db, { appId, viewer: userId, page })
    const pulls = channels.map((channel): Pull => ({ channel, since: knownRevs[channel.id] ?? 0 }))
    const { messages, isCut } = await readChanged(db, userId, pulls.filter(isRecoverable))
    const last = isCut ? messages.at(-1) : undefined
    const cutIndex = pulls.findIndex(({ channel }) => channel.id === last?.channelId)
    const changes = new Map(
      pulls.map((pull, index) => {
        const cut = index >= cutIndex ? last : undefined
        return [pull.channel.id, changesOf(pull, { messages, cut })]
      }),
    )
    const removed: ChannelChanges = { removed: true }
    return {
      channels: Object.fromEntries(ids.map((id) => [id, changes.get(id) ?? removed])),
      more: isCut,
    }
  },
)

export const sync = { pull } satisfies Implements<'sync'>

/** A channel, and the rev of it that the caller knows. */
type Pull = { channel: Channel; since: number }

/** A rev of the future comes from before a backup was restored. */
const isRecoverable = ({ channel, since }: Pull) =>
  since <= channel.rev && channel.rev - since <= limits.sync.changes

type ChangedMessages = { messages: Message[]; isCut: boolean }

/** The messages changed since, by channel and rev, up to the size of a response. */
async function readChanged(db: Tx, viewer: string, pulls: Pull[]): Promise<ChangedMessages> {
  const changed = pulls.filter(({ channel, since }) => since < channel.rev)
  if (changed.length === 0) return { messages: [], isCut: false }
  const channelIds = changed.map(({ channel }) => channel.id)
  const revs = changed.map(({ since }) => since)
  const which = db`
    join unnest(${channelIds}::uuid[], ${revs}::int[])
      with ordinality as known (channel_id, rev, ordinal)
      on known.channel_id = msg.channel_id
      and msg.rev > known.rev
    order by known.ordinal, msg.rev, msg.seq
    limit ${limits.sync.messages + 1}`
  const views = await selectMessages(db, { viewer, which })
  return cutToSize(views.map(toMessage))
}

/**
 * As many messages as fit into a response. A reply and its root may share a rev: they are returned
 * together, because the next pull asks for what is after a rev.
 */
function cutToSize(messages: Message[]): ChangedMessages {
  const next = messages[limits.sync.messages]
  if (!next) return { messages, isCut: false }
  const isComplete = ({ channelId, rev }: Message) =>
    channelId !== next.channelId || rev !== next.rev
  return { messages: messages.slice(0, limits.sync.messages).filter(isComplete), isCut: true }
}

type PulledMessages = { messages: Message[]; cut: Message | undefined }

/** The changes of one channel; `cut` is the last message if the response ends in it or before. */
function changesOf({ channel, since }: Pull, { messages, cut }: PulledMessages): ChannelChanges {
  if (!isRecoverable({ channel, since })) {
    return { resync: true, rev: channel.rev, channel, messages: [] }
  }
  const own = messages.filter(({ channelId }) => channelId === channel.id)
  if (!cut || since === channel.rev) return { rev: channel.rev, channel, messages: own }
  const rev = cut.channelId === channel.id ? cut.rev : since
  return { more: true, rev, channel, messages: own }
}
