import { limits } from '@parley/contract'
import type { Metrics } from '../../core/metrics.ts'
import { channelIdIn, isChannelTopic } from '../../core/topic-names.ts'
import type { Db, Tx } from '../../db/client.ts'
import { recentEvents } from '../queries.ts'
import type { ChannelEventRef, MissedEvent } from './channel-copies.ts'
import { MOST_LOST, OVERLAP_MS, PAGE, RETRY_MS } from './missed.ts'

type MissedCopiesOptions = {
  db: Db
  /**
   * Sends members on this node copies of these events, unless they were sent later ones. Fails if
   * the database is out of reach; other failures are reported for each event as lost.
   */
  copy: (events: MissedEvent[]) => Promise<void>
  metrics: Pick<Metrics, 'editsGivenUp'>
  report: (error: unknown, problem: string) => void
}

/** A copy that failed, the time since when it fails, and when it was last tried. */
type Lost = MissedEvent & { since: number; triedAt: number }

/**
 * Finds edits and deletions of channels of which the users of this node may have missed the copy.
 */
export class MissedCopies {
  /** Since when copies may be missed, by the monotonic clock; undefined if none was. */
  #since: number | undefined
  /** The lost copies, by topic. */
  readonly #lost = new Map<string, Lost>()
  /** Copies that are being tried again. */
  #tried = new Map<string, Lost>()
  /** How many were given up and not yet reported. */
  #givenUp = 0

  constructor(readonly options: MissedCopiesOptions) {}

  /** Notes that copies of the last milliseconds may not have been sent. */
  missed(milliseconds: number) {
    const since = performance.now() - milliseconds - OVERLAP_MS
    this.#since = Math.min(since, this.#since ?? since)
  }

  /** Notes a failed copy, which is tried again after growing pauses. */
  handleLost({ topic, offset }: ChannelEventRef) {
    const now = performance.now()
    const known = this.#lost.get(topic) ?? this.#tried.get(topic)
    const event = { topic, offset: Math.max(offset, known?.offset ?? 0) }
    this.#lost.delete(topic)
    const [oldest] = this.#lost.keys()
    if (oldest !== undefined && this.#lost.size >= MOST_LOST) this.#giveUp(oldest)
    // Its members were not counted. This is enough to keep it from sharing a statement with many
    // others.
    const memberCount = limits.largeChannelMembers
    this.#lost.set(topic, { ...event, memberCount, since: known?.since ?? now, triedAt: now })
  }

  /** Copies what was missed. If the database is out of reach, all of it is still missed. */
  async catchUp() {
    let since = this.#since
    this.#tried = this.#takeDue()
    this.#reportGivenUp()
    this.#since = undefined
    try {
      if (since !== undefined) await this.#copySince(since)
      since = undefined
      await this.options.copy([...this.#tried.values()])
    } catch (error) {
      if (since !== undefined) this.#since = Math.min(since, this.#since ?? since)
      const triedAt = performance.now()
      for (const [topic, lost] of this.#tried)
        this.#lost.set(topic, this.#lost.get(topic) ?? { ...lost, triedAt })
      throw error
    }
  }

  /** The lost copies that are due: each pause is as long as all before it. */
  #takeDue() {
    const now = performance.now()
    const due = new Map<string, Lost>()
    for (const [topic, lost] of this.#lost) {
      if (now - lost.triedAt < lost.triedAt - lost.since) continue
      if (now - lost.since < RETRY_MS) {
        this.#lost.delete(topic)
        due.set(topic, lost)
      } else this.#giveUp(topic)
    }
    return due
  }

  #giveUp(topic: string) {
    this.#lost.delete(topic)
    this.#givenUp += 1
  }

  /** Many may be given up at once, so they share a line of the log. */
  #reportGivenUp() {
    if (this.#givenUp === 0) return
    const { metrics, report } = this.options
    metrics.editsGivenUp.inc(this.#givenUp)
    report(new Error(`in ${this.#givenUp} channels`), 'copies of edits given up')
    this.#givenUp = 0
  }

  async #copySince(since: number) {
    let after: string | undefined = ''
    while (after !== undefined) {
      const from: string = after
      const milliseconds = performance.now() - since
      const page = await this.options.db.use((db) => selectUpdates(db, { milliseconds, from }))
      await this.options.copy(page)
      after = page.length < PAGE ? undefined : page.at(-1)?.topic
    }
  }
}

/**
 * For each channel that was edited or deleted in the last milliseconds the last such event, by the
 * topics. Nothing follows a deletion.
 */
const selectUpdates = (
  db: Tx,
  { milliseconds, from }: { milliseconds: number; from: string },
) => db<MissedEvent[]>`
  with changed as materialized (
    select topic, max("offset") as "offset"
    from ${recentEvents(db, milliseconds / 1_000)} recent
    where ${isChannelTopic(db, db`topic`)}
      and type in ('channel.updated', 'channel.deleted')
    group by topic
  )
  select changed.topic, changed."offset", coalesce(c.member_count, 0) as member_count
  from changed
  left join channels c on c.id = ${channelIdIn(db, db`changed.topic`)}::uuid
  where changed.topic > ${from}
  order by changed.topic
  limit ${PAGE}`
