import { setTimeout as wait } from 'node:timers/promises'
import { limits, parseTopic } from '@parley/contract'
import type { UserRef } from '../core/user-ref.ts'
import type { Db, Tx } from '../db/client.ts'
import type { News } from './broker.ts'
import { eventOf, type Publication } from './publication.ts'
import { type Connected, nodesOf, onNode, sizeOf } from './reach.ts'

/** How long the next copy to the many members of a large channel waits at least. */
const COPIES_PAUSE_MS = 1_000

type CopiesOptions = {
  db: Db
  /** The node whose users are sent copies; null means those of all nodes. */
  nodeId: string | null
  tell: (news: News, users: Connected<UserRef>[]) => void
  /** The event could not be copied. */
  onFailure: (error: unknown, topic: string, offset: number) => void
}

/**
 * Copies events of channels to their members. Each copy has all of the channel: of the events that
 * wait, members are sent the last, and none that is heard of after a later one.
 */
export function createChannelCopies({ db, nodeId, tell, onFailure }: CopiesOptions) {
  /** By channel, until a moment after the copy. */
  const turns = new Map<string, Turn>()

  /** Returns whether the channel has many members who are connected. */
  const copy = async (topic: string, offset: number) => {
    const channel = parseTopic(topic)
    if (channel?.kind !== 'chat') return false
    const { appId, channelId } = channel
    const rows = await db.use((db) => selectCopies(db, { nodeId, channelId, topic, offset }))
    const [first] = rows
    if (!first) return false
    const users = rows.flatMap(({ nodeId, userIds }) =>
      userIds.map((userId) => ({ nodeId, appId, userId })),
    )
    tell({ appId, event: eventOf(first), subject: topic, offset }, users)
    return users.length > limits.largeChannelMembers
  }
  const copyInTurn = async (topic: string, offset: number) => {
    const turn = turns.get(topic) ?? { copied: 0, begun: 0, heard: 0, isTaken: false }
    turn.heard = Math.max(turn.heard, offset)
    if (turn.isTaken || turn.heard <= turn.begun) return
    turn.isTaken = true
    turns.set(topic, turn)
    while (turn.begun < turn.heard) {
      const { heard } = turn
      turn.begun = heard
      const isToMany = await copy(topic, heard).catch((error: unknown) => {
        onFailure(error, topic, heard)
        return false
      })
      turn.copied = heard
      if (isToMany) await wait(COPIES_PAUSE_MS, undefined, { ref: false })
    }
    turn.isTaken = false
    const { begun } = turn
    await wait(COPIES_PAUSE_MS, undefined, { ref: false })
    // Another one may have copied meanwhile, and be gone or followed by a turn of its own.
    if (turn.begun === begun && turns.get(topic) === turn) turns.delete(topic)
  }
  return {
    copy: copyInTurn,
    /** The last events that members have not been sent yet, by channel. */
    uncopied: () =>
      [...turns].flatMap(([topic, { copied, heard }]) =>
        copied < heard ? [{ topic, offset: heard }] : [],
      ),
  }
}

/** Of a channel's events: the last copied, the last that is being copied, the last heard of. */
type Turn = { copied: number; begun: number; heard: number; isTaken: boolean }

type EventCopy = Pick<Publication, 'type' | 'envelope'> & Connected<{ userIds: string[] }>
type CopyQuery = { nodeId: string | null; channelId: string; topic: string; offset: number }

/**
 * An event of a channel, and its members who are connected to any node or to the given one, by
 * their nodes. Those of a large channel that has more members than its app has connected users are
 * found by the connections, those of other channels by the channel.
 */
export const selectCopies = (db: Tx, { nodeId, channelId, topic, offset }: CopyQuery) => {
  return db<EventCopy[]>`
    select e.type, e.envelope, told.node_id, told.user_ids
    from events e
    cross join lateral (
      select *
      from channels
      where id = ${channelId}
      limit 1
    ) c
    cross join lateral ${sizeOf(db, nodeId)} size
    cross join lateral (
      select connected.node_id, array_agg(connected.user_id) as user_ids
      from (
        select con.node_id, m.user_id
        from members m
        cross join lateral ${nodesOf(db, db`m`, nodeId)} con
        where m.channel_id = c.id
          and not size.is_crowded
        union all
        select con.node_id, con.user_id
        from connections con
        where con.app_id = c.app_id
          ${onNode(db, nodeId)}
          and size.is_crowded
          and (
            select true
            from members m
            where m.channel_id = c.id
              and m.user_id = con.user_id
          )
      ) connected
      group by connected.node_id
    ) told
    where e.topic = ${topic}
      and e."offset" = ${offset}`
}
