import type { Channel } from '../generated/types.ts'

/** The parts of a record that change by events without a rev, and have versions instead. */
export type UnreadFields = Pick<Channel, 'unreadCount' | 'unreadVersion'>
export type Settings = Pick<Channel, 'starred' | 'muted'>

/** The answer to a read: the count that is left, and how far the user has read. */
export type ReadAnswer = UnreadFields & Pick<Channel, 'lastReadSeq'>
/** Servers of earlier versions leave the count out. */
export const hasUnreadCount = (answer: Partial<ReadAnswer>): answer is ReadAnswer =>
  answer.unreadCount !== undefined

/** The response that a record is from: when it was requested, and the version of its settings. */
export type Source = { since: number; settingsVersion: number }

/** By id, the newest of the values in events and responses, which arrive in any order. */
export class NewestValues<Value> extends Map<string, { value: Value; version: number }> {
  /** Takes a value, unless a newer one is known. Returns the newest. */
  take(id: string, value: Value, version: number): Value {
    const known = this.get(id)
    if (known && known.version > version) return known.value
    this.set(id, { value, version })
    return value
  }
}

/** The newest unread counts and settings, also of channels whose records are yet to come. */
export class VersionedParts {
  readonly #counts = new NewestValues<UnreadFields>()
  readonly #settings = new NewestValues<Settings>()
  /** How far the user has read, by events. A response may be older. */
  readonly #reads = new Map<string, number>()

  takeRead(channelId: string, seq: number) {
    const known = this.#reads.get(channelId) ?? 0
    if (seq > known) this.#reads.set(channelId, seq)
  }

  clearReads() {
    this.#reads.clear()
  }

  /** Like the other method, it returns the newest value, which is the one to show. */
  takeCount(channelId: string, { unreadCount, unreadVersion }: UnreadFields) {
    return this.#counts.take(channelId, { unreadCount, unreadVersion }, unreadVersion)
  }

  /** Takes the newer of an answer, whose event may come later, and the known position. */
  takeAnswer(channelId: string, answer: ReadAnswer, knownReadSeq: number) {
    const lastReadSeq = Math.max(knownReadSeq, answer.lastReadSeq)
    this.takeRead(channelId, lastReadSeq)
    return { ...this.takeCount(channelId, answer), lastReadSeq }
  }

  takeSettings({ channelId, starred, muted }: Settings & { channelId: string }, version: number) {
    return this.#settings.take(channelId, { starred, muted }, version)
  }

  takeRecord(channel: Channel, settingsVersion: number) {
    const { id } = channel
    const settings = { ...channel, channelId: id }
    return {
      ...this.takeCount(id, channel),
      ...this.takeSettings(settings, settingsVersion),
      readSeq: this.#reads.get(id) ?? 0,
    }
  }

  delete(channelId: string) {
    for (const values of [this.#counts, this.#settings, this.#reads]) values.delete(channelId)
  }

  /** Forgets all versions: after a backup was restored, they may be lower. */
  clear() {
    for (const values of [this.#counts, this.#settings]) values.clear()
  }
}
