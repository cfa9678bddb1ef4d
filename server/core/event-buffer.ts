import {
  type ChannelEvent,
  type ChannelEventType,
  type Envelope,
  topics,
  type UserEvent,
  type UserEventType,
} from '@parley/contract'
import type { Fragment, Tx } from '../db/client.ts'
import { pipelined } from '../db/pipelined.ts'
import type { ChannelRow } from '../db/rows.ts'
import { constant, isOpenType } from '../db/sql.ts'
import type { JobStaging, Jobs, Task } from './jobs.ts'
import { storedEnvelope } from './stored-envelope.ts'

/** A channel whose row this transaction has locked. Only such a channel can change and emit. */
export type LockedChannel = ChannelRow & LockedCounters
export type LockedCounters = Pick<ChannelRow, 'id' | 'rev' | 'lastSeq'> & {
  readonly isLocked: true
}

/**
 * A durable event in the process that committed it. `offset` is its position in its topic;
 * `envelope` is `{type, payload}` as JSON, the form in which it is sent.
 */
export type StoredEvent = Envelope & {
  topic: string
  offset: number
  envelope: string
  messageId: string | null
}
type EventBufferOptions = {
  appId: string
  /** Stages jobs with the events. If undefined, no jobs are staged. */
  staging: JobStaging | undefined
  /** The trace of the call, for the jobs that it stages. */
  trace?: string | undefined
  /** Added to the payload of each event. */
  cause: { via?: 'backend' }
}
/** `createdAt` is that of the last new message. */
type Counters = { rev: number; lastSeq: number; createdAt: string | null }
type UserEventDraft = Envelope & { userId: string; envelope: string }

/**
 * The durable events of one transaction, and the jobs it stages. Each event of a channel takes the
 * channel's next `rev`; `write` stores all events with the channels' new counters in one statement,
 * so that a rev and its event cannot be separated.
 */
export class EventBuffer {
  readonly appId: string
  readonly staging: JobStaging | undefined
  readonly #cause: { via?: 'backend' }
  readonly #trace: string | undefined
  readonly #counters = new Map<string, Counters>()
  readonly #channelEvents: StoredEvent[] = []
  readonly #userEvents: UserEventDraft[] = []
  readonly #jobs: { task: Task; payload: string }[] = []

  constructor({ appId, staging, trace, cause }: EventBufferOptions) {
    this.#trace = trace
    this.appId = appId
    this.staging = staging
    this.#cause = cause
  }

  /** Emits an event of a locked channel. `payload` is called with the rev that the event takes. */
  emit<T extends ChannelEventType>(
    channel: LockedCounters,
    type: T,
    payload: (rev: number) => ChannelEvent<T>,
    messageId: string | null = null,
  ) {
    const counters = this.#countersOf(channel)
    counters.rev += 1
    const content = { ...payload(counters.rev), ...this.#cause }
    this.#channelEvents.push({
      ...serialise(type, content),
      topic: topics.channel(this.appId, channel.id),
      offset: counters.rev,
      messageId,
    })
    return content
  }

  /** Emits an event of a user's own topic. */
  emitToUser<T extends UserEventType>(userId: string, type: T, payload: UserEvent<T>) {
    this.#userEvents.push({ ...serialise(type, { ...payload, ...this.#cause }), userId })
  }

  /**
   * Stages a job that runs after the commit, with the trace of the call, or in a batch of calls of
   * the one that caused it; unless this server accepts no such jobs.
   */
  enqueue<T extends Task>(task: T, payload: Jobs[T], trace = this.#trace) {
    if (!this.staging?.accepts(task)) return
    this.#jobs.push({ task, payload: JSON.stringify({ appId: this.appId, ...payload, trace }) })
  }

  wakeJobs() {
    if (this.#jobs.length > 0) this.staging?.wake()
  }

  /** The seq of a channel's next message, which is no older than the one before. */
  nextSeq(channel: LockedCounters, createdAt: string) {
    const counters = this.#countersOf(channel)
    counters.lastSeq += 1
    counters.createdAt = createdAt
    return counters.lastSeq
  }

  #countersOf({ id, rev, lastSeq }: LockedCounters) {
    const counters = this.#counters.get(id) ?? { rev, lastSeq, createdAt: null }
    this.#counters.set(id, counters)
    return counters
  }

  /** Stores everything, in statements that are sent together. Returns the events to publish. */
  async write(tx: Tx): Promise<StoredEvent[]> {
    const jobs = this.#jobs.length > 0 ? this.#writeJobs(tx) : undefined
    const hasChannels = this.#counters.size > 0
    const staged = jobs ? tx`, staged as (${jobs})` : nothing(tx)
    const [, , userRows] = await pipelined([
      hasChannels ? this.#writeChannelEvents(tx, staged) : undefined,
      hasChannels ? undefined : jobs,
      this.#userEvents.length > 0 ? this.#writeUserEvents(tx) : [],
    ])
    return [...this.#channelEvents, ...this.#withOffsets(userRows)]
  }

  #writeJobs(tx: Tx) {
    const tasks = this.#jobs.map(({ task }) => task)
    const payloads = this.#jobs.map(({ payload }) => payload)
    return tx`
      insert into staged_jobs (task, payload)
      select task, payload::json
      from unnest(${tasks}::text[], ${payloads}::text[]) as given (task, payload)`
  }

  #writeChannelEvents(tx: Tx, staged: Fragment) {
    const ids = [...this.#counters.keys()]
    const counters = [...this.#counters.values()]
    const revs = counters.map(({ rev }) => rev)
    const lastSeqs = counters.map(({ lastSeq }) => lastSeq)
    const createdAts = counters.map(({ createdAt }) => createdAt)
    const events = this.#channelEvents
    const eventTopics = events.map(({ topic }) => topic)
    const offsets = events.map(({ offset }) => offset)
    const types = events.map(({ type }) => type)
    const envelopes = events.map(storedEnvelope)
    const messageIds = events.map(({ messageId }) => messageId)
    return tx`
      with counted as (
        update channels c
        set
          rev = given.rev,
          last_seq = given.last_seq,
          last_activity_at = ${activity(tx)},
          active_hour = case
            when ${isOpen(tx)} then date_trunc('hour', ${activity(tx)}, 'UTC')
            else c.active_hour
          end
        from unnest(
          ${ids}::uuid[], ${revs}::int[], ${lastSeqs}::int[], ${createdAts}::timestamptz[]
        ) as given (id, rev, last_seq, created_at)
        where c.id = given.id
      )${staged}
      insert into events (topic, "offset", type, envelope, message_id)
      select *
      from unnest(
        ${eventTopics}::text[], ${offsets}::int[],
        ${types}::text[], ${envelopesOf(tx, envelopes)}, ${messageIds}::uuid[]
      )`
  }

  // Streams are locked in the order of their users, so that transactions never deadlock on them.
  #writeUserEvents(tx: Tx) {
    const userIds = this.#userEvents.map(({ userId }) => userId)
    const types = this.#userEvents.map(({ type }) => type)
    const given = this.#userEvents.map(({ envelope }) => envelope)
    const envelopes = envelopesOf(tx, given)
    return tx<{ topic: string; offset: number }[]>`
      with emitted as (
        select
          user_id, type, envelope,
          row_number() over (partition by user_id order by index) as number,
          count(*) over (partition by user_id) as total
        from unnest(${userIds}::text[], ${types}::text[], ${envelopes})
          with ordinality as given (user_id, type, envelope, index)
      ),
      streams as (
        insert into user_streams as us (app_id, user_id, last_offset)
        select ${this.appId}, user_id, max(total)
        from emitted
        group by user_id
        order by user_id
        on conflict (app_id, user_id) do update
        set last_offset = us.last_offset + excluded.last_offset
        returning user_id, last_offset
      )
      insert into events (topic, "offset", type, envelope)
      select
        ${topics.user(this.appId, '')} || user_id,
        last_offset - total + number,
        type, envelope
      from emitted
      join streams using (user_id)
      returning topic, "offset"`
  }

  /** The users' events with the offsets they were given: consecutive in each topic, in order. */
  #withOffsets(rows: { topic: string; offset: number }[]): StoredEvent[] {
    const next = new Map<string, number>()
    for (const { topic, offset } of rows)
      next.set(topic, Math.min(offset, next.get(topic) ?? offset))
    return this.#userEvents.map(({ userId, ...event }) => {
      const topic = topics.user(this.appId, userId)
      const offset = next.get(topic) ?? 0
      next.set(topic, offset + 1)
      return { ...event, topic, offset, messageId: null }
    })
  }
}

const nothing = constant((tx) => tx``)
const isOpen = constant((tx) => isOpenType(tx, tx`c.type`))

/**
 * When channel `c` was last written to, given its counters: at the time of its last message, by
 * which the next one takes its own. The clock may have been set back since.
 */
const activity = constant((tx) => tx`greatest(given.created_at, c.last_activity_at)`)

/** One text: JSON has no line breaks, and in an array all its quotes would be escaped. */
const envelopesOf = (tx: Tx, envelopes: string[]) =>
  tx`string_to_array(${envelopes.join('\n')}, chr(10))`

const serialise = (type: Envelope['type'], payload: Envelope['payload']) => {
  const event = { type, payload } as Envelope // the payload of that type, as `emit` demands
  return { ...event, envelope: JSON.stringify(event) }
}
