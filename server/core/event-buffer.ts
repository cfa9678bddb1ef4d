import {
  type ChannelEvent,
  type ChannelEventType,
  topics,
  type UserEvent,
  type UserEventType,
} from '@parley/contract'
import type { Fragment, Tx } from '../db/client.ts'
import type { ChannelRow } from '../db/rows.ts'
import type { JobStaging, Jobs, Task } from './jobs.ts'

/** A channel whose row this transaction has locked. Only such a channel can change and have news. */
export type LockedChannel = ChannelRow & LockedCounters
export type LockedCounters = Pick<ChannelRow, 'id' | 'rev' | 'lastSeq'> & {
  readonly isLocked: true
}

/** A durable event as it was stored: `offset` is its place in its topic. */
export type StoredEvent = {
  topic: string
  offset: number
  envelope: string
  messageId: string | null
}

/**
 * The durable events of one transaction, and the work it promises. Each event of a channel takes its next `rev`; `write` stores them with the
 * channels' new counters in one statement, whatever their number, so that a rev and its event can not be parted.
 */
export class EventBuffer {
  readonly #counters = new Map<string, { rev: number; lastSeq: number }>()
  readonly #channelEvents: StoredEvent[] = []
  readonly #userEvents: { userId: string; envelope: string }[] = []

  readonly #jobs: { task: Task; payload: string }[] = []

  constructor(
    readonly appId: string,
    /** Without one nothing is promised. */
    readonly staging: JobStaging | undefined,
  ) {}

  /** Stages an event of a locked channel: `payload` is told the rev that the event takes. */
  emit<T extends ChannelEventType>(
    channel: LockedCounters,
    type: T,
    payload: (rev: number) => ChannelEvent<T>,
    messageId: string | null = null,
  ) {
    const counters = this.#of(channel)
    counters.rev += 1
    const content = payload(counters.rev)
    const envelope = JSON.stringify({ type, payload: content })
    this.#channelEvents.push({
      topic: topics.channel(this.appId, channel.id),
      offset: counters.rev,
      envelope,
      messageId,
    })
    return content
  }

  /** Stages an event of a user's own topic. */
  emitToUser<T extends UserEventType>(userId: string, type: T, payload: UserEvent<T>) {
    this.#userEvents.push({ userId, envelope: JSON.stringify({ type, payload }) })
  }

  /** Stages work for after the commit, unless this server does no such work. */
  enqueue<T extends Task>(task: T, payload: Jobs[T]) {
    if (this.staging?.accepts(task))
      this.#jobs.push({ task, payload: JSON.stringify({ appId: this.appId, ...payload }) })
  }

  wakeJobs() {
    if (this.#jobs.length > 0) this.staging?.wake()
  }

  /** The seq of a channel's next message. */
  nextSeq(channel: LockedCounters) {
    return ++this.#of(channel).lastSeq
  }

  #of(channel: LockedCounters) {
    const known = this.#counters.get(channel.id) ?? { rev: channel.rev, lastSeq: channel.lastSeq }
    this.#counters.set(channel.id, known)
    return known
  }

  /** Stores all this, in statements that are sent together; answers with what has to be told once it is committed. */
  async write(tx: Tx): Promise<StoredEvent[]> {
    const jobs = this.#jobs.length > 0 ? this.#writeJobs(tx) : undefined
    const hasChannels = this.#counters.size > 0
    const [, , userEvents] = await Promise.all([
      hasChannels
        ? this.#writeChannelEvents(tx, jobs ? tx`, promised as (${jobs})` : tx``)
        : undefined,
      hasChannels ? undefined : jobs,
      this.#userEvents.length > 0 ? this.#writeUserEvents(tx) : [],
    ])
    return [...this.#channelEvents, ...userEvents]
  }

  #writeJobs(tx: Tx) {
    return tx`
      insert into staged_jobs (task, payload)
      select task, payload::json from unnest(${this.#jobs.map(({ task }) => task)}::text[], ${this.#jobs.map(({ payload }) => payload)}::text[]) as j (task, payload)`
  }

  #writeChannelEvents(tx: Tx, promises: Fragment) {
    const counters = [...this.#counters]
    const events = this.#channelEvents
    return tx`
      with counted as (
        update channels c
        set rev = n.rev, last_seq = n.last_seq,
          last_activity_at = case when n.last_seq > c.last_seq then clock_timestamp() else c.last_activity_at end
        from unnest(
          ${counters.map(([id]) => id)}::uuid[], ${counters.map(([, count]) => count.rev)}::int[], ${counters.map(([, count]) => count.lastSeq)}::int[]
        ) as n (id, rev, last_seq)
        where c.id = n.id
      )${promises}
      insert into events (topic, "offset", envelope, message_id)
      select * from unnest(
        ${events.map((event) => event.topic)}::text[], ${events.map((event) => event.offset)}::int[],
        ${events.map((event) => event.envelope)}::text[], ${events.map((event) => event.messageId)}::uuid[]
      )`
  }

  // Streams are locked in the order of their users, so that two transactions never wait for each other.
  #writeUserEvents(tx: Tx) {
    return tx<StoredEvent[]>`
      with news as (
        select user_id, envelope, row_number() over (partition by user_id order by place) as number, count(*) over (partition by user_id) as total
        from unnest(${this.#userEvents.map((event) => event.userId)}::text[], ${this.#userEvents.map((event) => event.envelope)}::text[])
          with ordinality as n (user_id, envelope, place)
      ), streams as (
        insert into user_streams as s (app_id, user_id, last_offset)
        select ${this.appId}, user_id, max(total) from news group by user_id order by user_id
        on conflict (app_id, user_id) do update set last_offset = s.last_offset + excluded.last_offset
        returning user_id, last_offset
      )
      insert into events (topic, "offset", envelope)
      select ${topics.user(this.appId, '')} || user_id, last_offset - total + number, envelope from news join streams using (user_id)
      returning topic, "offset", envelope, message_id`
  }
}
