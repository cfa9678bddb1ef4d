import type { Db, Tx } from '../db/client.ts'

type MissedCopiesOptions = {
  db: Db
  /** Sends members on this node a copy of a channel's event, unless they were sent a later one. */
  copy: (topic: string, offset: number) => void
}

/** Overlap: transactions may commit after the gap began although their events are older. */
const OVERLAP_MS = 15_000

/** Finds the edits of channels of which the users of this node may not have been sent a copy. */
export class MissedCopies {
  /** Since when, by the monotonic clock; undefined if none was missed. */
  #since: number | undefined

  constructor(readonly options: MissedCopiesOptions) {}

  /** Copies of the last milliseconds may not have been sent. */
  missed(milliseconds: number) {
    const since = performance.now() - milliseconds - OVERLAP_MS
    this.#since = Math.min(since, this.#since ?? since)
  }

  /** Copies what was missed. If that fails, it is still missed. */
  async catchUp() {
    const since = this.#since
    if (since === undefined) return
    this.#since = undefined
    try {
      const milliseconds = performance.now() - since
      const updates = await this.options.db.use((db) => selectUpdates(db, milliseconds))
      for (const { topic, offset } of updates) this.options.copy(topic, offset)
    } catch (error) {
      this.#since = Math.min(since, this.#since ?? since)
      throw error
    }
  }
}

/** The last edit of each channel that was edited in the last milliseconds. */
const selectUpdates = (db: Tx, milliseconds: number) => db<{ topic: string; offset: number }[]>`
  select topic, max("offset") as "offset"
  from events
  where created_at > now() - ${milliseconds} * interval '1 millisecond'
    and topic like 'chat:%'
    and type = 'channel.updated'
  group by topic`
