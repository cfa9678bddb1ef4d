import { setTimeout as wait } from 'node:timers/promises'
import { limits, parseTopic } from '@parley/contract'
import { settleInHalves } from '../../core/settle-batch.ts'
import { joinRemoval, shownEnvelope, shownType } from '../../core/text-removals.ts'
import type { UserRef } from '../../core/user-ref.ts'
import { type Db, isDatabaseUnavailable, isStatementTimeout, type Tx } from '../../db/client.ts'
import { ofLargeChannel, onNode, sizeOf } from '../../features/connected.ts'
import type { Fanout } from '../broker/index.ts'
import { inPieces } from '../chunks.ts'
import { coalesce } from '../coalesce.ts'
import { eventOf, type Publication } from '../publication.ts'
import { type Connected, nodesOf } from './reach.ts'

/** The least pause between two copies to the many members of a large channel. */
const COPIES_PAUSE_MS = 1_000
/** How many changed channels one statement reads, of any size. */
const CHANGED_PER_STATEMENT = 20
/** How many missed channels one statement reads, and about how many members. */
const CHANNELS_PER_STATEMENT = 100
const MEMBERS_PER_STATEMENT = 10_000

/** The event of a channel, of which its members are sent a copy. */
export type ChannelEventRef = { topic: string; offset: number }
/** An event that may have been missed. */
export type MissedEvent = ChannelEventRef & { memberCount: number }

type CopiesOptions = {
  db: Db
  /** The node whose users are sent copies; null means all nodes. */
  nodeId: string | null
  send: (fanout: Fanout, users: Connected<UserRef>[]) => void
  /** The event could not be copied. */
  onFailure: (error: unknown, event: ChannelEventRef) => void
}

/**
 * Copies events of channels to their members. Each copy contains the whole channel, so of several
 * waiting events only the last is sent, and none that arrives after a later one.
 */
export function createChannelCopies({ db, nodeId, send, onFailure }: CopiesOptions) {
  /** The turn of each channel; removed a moment after the copy. */
  const turns = new Map<string, Turn>()

  /** Sends copies to members of these channels. Returns for each how many are connected. */
  const sendCopies = async (events: ChannelEventRef[]) => {
    const found = new Map<string, EventCopy[]>()
    for (const row of await db.use((db) => selectCopies(db, nodeId, events)))
      found.set(row.topic, [...(found.get(row.topic) ?? []), row])
    return events.map(({ topic, offset }) => sendCopy(found.get(topic) ?? [], { topic, offset }))
  }
  const sendCopy = (rows: EventCopy[], { topic, offset }: ChannelEventRef) => {
    const [first] = rows
    const appId = parseTopic(topic)?.appId
    if (!first || appId === undefined) return 0
    const users = rows.flatMap(({ nodeId, userIds }) =>
      userIds.map((userId) => ({ nodeId, appId, userId })),
    )
    send({ appId, event: eventOf(first), subject: topic, offset }, users)
    return users.length
  }
  /** One statement at a time for the channels of an app: its users may change many at once. */
  const sendInTurn = coalesce(sendCopies, {
    maxBatch: CHANGED_PER_STATEMENT,
    groupOf: ({ topic }) => parseTopic(topic)?.appId ?? '',
  })
  /** Returns whether the channel has many members who are connected. */
  const copy = async (event: ChannelEventRef) =>
    (await sendInTurn(event)) > limits.largeChannelMembers
  const copyInTurn = async (topic: string, offset: number) => {
    const turn = turns.get(topic) ?? { copied: 0, begun: 0, newest: 0, isTaken: false }
    turn.newest = Math.max(turn.newest, offset)
    if (turn.isTaken || turn.newest <= turn.begun) return
    turn.isTaken = true
    turns.set(topic, turn)
    while (turn.begun < turn.newest) {
      const { newest } = turn
      turn.begun = newest
      const event = { topic, offset: newest }
      const isToMany = await copy(event).catch((error: unknown) => {
        onFailure(error, event)
        return false
      })
      turn.copied = newest
      if (isToMany) await wait(COPIES_PAUSE_MS, undefined, { ref: false })
    }
    turn.isTaken = false
    const { begun } = turn
    await wait(COPIES_PAUSE_MS, undefined, { ref: false })
    // A later event that was copied meanwhile has a pause of its own.
    if (turn.begun === begun) turns.delete(topic)
  }
  const copyMissed = async (missed: MissedEvent[]) => {
    for (const some of inPieces(missed, PIECES)) {
      const settled = await settleInHalves(some, sendCopies)
      for (const [index, event] of some.entries()) {
        const result = settled[index]
        if (result?.status !== 'rejected') continue
        if (isOutOfReach(result.reason, settled)) throw result.reason
        onFailure(result.reason, event)
      }
    }
  }
  return {
    copy: copyInTurn,
    /**
     * Copies events of many channels in few statements, one after the other. Fails if the database
     * is out of reach, or too slow for several channels; a failure of one channel is reported for
     * that one.
     */
    copyMissed,
    /** The last events that members have not been sent yet, by channel. */
    uncopied: () =>
      [...turns].flatMap(([topic, { copied, newest }]) =>
        copied < newest ? [{ topic, offset: newest }] : [],
      ),
  }
}

/**
 * A channel whose statement takes too long is skipped: it would be slow again, and delay all
 * others. But if all channels of a piece take too long, the database itself is slow.
 */
const isOutOfReach = (error: unknown, piece: PromiseSettledResult<unknown>[]) =>
  isStatementTimeout(error)
    ? piece.length > 1 && piece.every(isTimeout)
    : isDatabaseUnavailable(error)

const isTimeout = (result: PromiseSettledResult<unknown>) =>
  result.status === 'rejected' && isStatementTimeout(result.reason)

const PIECES = {
  mostBytes: MEMBERS_PER_STATEMENT,
  bytesOf: ({ memberCount }: MissedEvent) =>
    memberCount + MEMBERS_PER_STATEMENT / CHANNELS_PER_STATEMENT,
}

/** Offsets of a channel's events: the last copied, the last being copied, the newest. */
type Turn = { copied: number; begun: number; newest: number; isTaken: boolean }

type EventCopy = Pick<Publication, 'type' | 'envelope'> &
  Connected<{ topic: string; userIds: string[] }>

/**
 * Events of channels, and their members who are connected to any node or to the given one, by their
 * nodes. Those of a large channel that has more members than its app has connected users are found
 * by the connections, those of other channels by the channel. The copy of a deletion also goes to
 * former members, because the cleanup soon turns members into former members.
 */
export const selectCopies = (db: Tx, nodeId: string | null, events: ChannelEventRef[]) => {
  const refs = events.map(({ topic }) => parseTopic(topic))
  const channelIds = refs.map((ref) => (ref?.kind === 'chat' ? ref.channelId : null))
  const topics = events.map(({ topic }) => topic)
  const offsets = events.map(({ offset }) => offset)
  return db<EventCopy[]>`
    select e.topic, e.type, e.envelope, recipients.node_id, recipients.user_ids
    from unnest(${channelIds}::uuid[], ${topics}::text[], ${offsets}::int[])
      as given (channel_id, topic, "offset")
    cross join lateral (
      select e.topic, ${shownType(db)} as type, ${shownEnvelope(db)} as envelope
      from events e
      ${joinRemoval(db)}
      where e.topic = given.topic
        and e."offset" = given."offset"
      limit 1
    ) e
    cross join lateral (
      select *
      from channels
      where id = given.channel_id
      limit 1
    ) c
    cross join lateral ${sizeOf(db, nodeId)} size
    cross join lateral ${sizeOfFormer(db)} former
    cross join lateral (
      select connected.node_id, array_agg(connected.user_id) as user_ids
      from (
        select con.node_id, m.user_id
        from members m
        cross join lateral ${nodesOf(db, db`m`, nodeId)} con
        where m.channel_id = c.id
          and not size.is_large
        union all
        select con.node_id, con.user_id
        ${ofLargeChannel(db, nodeId)}
        union all
        ${selectFormer(db, nodeId)}
      ) connected
      group by connected.node_id
    ) recipients`
}

/** Whether channel row `c` has many former members. Not looked up unless event `e` deletes it. */
const sizeOfFormer = (db: Tx) => db`(
  select count(*) > ${limits.largeChannelMembers} as is_large
  from (
    select
    from former_members
    where channel_id = c.id
      and e.type = 'channel.deleted'
    limit ${limits.largeChannelMembers + 1}
  ) known
  offset 0
)`

/** The connected former members of the channel, found by the connections if there are many. */
const selectFormer = (db: Tx, nodeId: string | null) => db`
  select con.node_id, fm.user_id
  from former_members fm
  cross join lateral ${nodesOf(db, db`fm`, nodeId)} con
  where fm.channel_id = c.id
    and e.type = 'channel.deleted'
    and not former.is_large
  union all
  select con.node_id, con.user_id
  from connections con
  where con.app_id = c.app_id
    ${onNode(db, nodeId)}
    and former.is_large
    and (
      select true
      from former_members fm
      where fm.channel_id = c.id
        and fm.user_id = con.user_id
    )`
