import { type Channel, type ChannelChanges, contract, limits, type Message } from '@parley/contract'
import { type Implements, implementWithoutTransaction } from '../core/operation.ts'
import type { Tx } from '../db/client.ts'
import { selectChannels } from './channels/view.ts'
import { selectMessages, toMessage } from './messages/view.ts'

/**
 * What happened since the revs the caller knows, in three statements whatever the number of channels. The channels are
 * read first: what changes between the statements is told twice rather than never.
 */
const pull = implementWithoutTransaction(
  contract.sync.pull,
  async ({ db, caller: { appId, userId } }, { channels: known }) => {
    const page = db`c.id = any(${Object.keys(known)}::uuid[]) and m.user_id is not null`
    const mine = await selectChannels(db, { appId, viewer: userId, page })
    const wanted = mine.map((channel): Wanted => ({ channel, since: known[channel.id] ?? 0 }))
    const { messages, isCut } = await readChanged(db, userId, wanted.filter(isWithinReach))
    const cut = isCut ? messages.at(-1) : undefined
    const cutAt = wanted.findIndex(({ channel }) => channel.id === cut?.channelId)
    const told = new Map(
      wanted.map((entry, place) => [
        entry.channel.id,
        tell(entry, { messages, cut: cut && place >= cutAt ? cut : undefined }),
      ]),
    )
    const removed: ChannelChanges = { removed: true }
    return {
      channels: Object.fromEntries(Object.keys(known).map((id) => [id, told.get(id) ?? removed])),
      more: isCut,
    }
  },
)

export const sync = { pull } satisfies Implements<'sync'>

type Wanted = { channel: Channel; since: number }

/** A rev of the future comes from before a backup was restored. */
const isWithinReach = ({ channel, since }: Wanted) =>
  since <= channel.rev && channel.rev - since <= limits.sync.changes

/** The messages changed since, channel by channel and ascending by rev, up to what an answer holds. */
async function readChanged(
  db: Tx,
  viewer: string,
  wanted: Wanted[],
): Promise<{ messages: Message[]; isCut: boolean }> {
  const changed = wanted.filter(({ channel, since }) => since < channel.rev)
  if (changed.length === 0) return { messages: [], isCut: false }
  const which = db`
    join unnest(${changed.map(({ channel }) => channel.id)}::uuid[], ${changed.map(({ since }) => since)}::int[]) with ordinality as s (channel_id, since, place)
      on s.channel_id = m.channel_id and m.rev > s.since
    order by s.place, m.rev, m.seq limit ${limits.sync.messages + 1}`
  return whole((await selectMessages(db, { viewer, which })).map(toMessage))
}

/** As much as an answer holds. A reply and its root may share a rev: they are told together, for what is asked for next is after a rev. */
function whole(messages: Message[]) {
  const next = messages[limits.sync.messages]
  if (!next) return { messages, isCut: false }
  const isTold = ({ channelId, rev }: Message) => channelId !== next.channelId || rev !== next.rev
  return { messages: messages.slice(0, limits.sync.messages).filter(isTold), isCut: true }
}

/** The changes of one channel. `cut`: the last message told, if this channel was not told to its end. */
function tell(
  { channel, since }: Wanted,
  { messages, cut }: { messages: Message[]; cut: Message | undefined },
): ChannelChanges {
  if (!isWithinReach({ channel, since }))
    return { resync: true, rev: channel.rev, channel, messages: [] }
  const own = messages.filter(({ channelId }) => channelId === channel.id)
  if (!cut || since === channel.rev) return { rev: channel.rev, channel, messages: own }
  return { more: true, rev: cut.channelId === channel.id ? cut.rev : since, channel, messages: own }
}
