import { createLru } from '../core/lru.ts'
import { isStatementTimeout } from '../db/client.ts'
import { SLOW_PIECES } from './chunks.ts'
import { type ChannelChange, DirtyChannels } from './dirty-channels.ts'
import { LeftOut } from './left-out.ts'
import { PausedRuns } from './paused-runs.ts'
import type { Reach } from './reach.ts'
import type { UnreadCounter } from './unread-counter.ts'
import type { ConnectedCount } from './unread-counts.ts'

/** The channels of a statement, by whether there are several. */
type Kind = 'shared' | 'alone'
const REACHES = ['forAll', 'forOwn'] as const

type SlowCountsOptions = {
  pauseMs: number
  counter: UnreadCounter
  /** Called with what a statement has read, and with why it was. */
  onCounted: (counts: ConnectedCount[], changes: DirtyChannels) => void
  report: (error: unknown, problem: string) => void
}

/**
 * Counts channels whose statement took too long, so that no other waits for them. Those that shared
 * it are tried in pieces, for which those that are alone do not wait, nor the pieces for these. One
 * that takes too long alone is counted for the users of this node only: the other nodes find the
 * change when they compare with the database. One that takes too long even for them is left out for
 * a while.
 */
export class SlowCounts {
  readonly #dirty = { forAll: new DirtyChannels(), forOwn: new DirtyChannels() }
  /** How many channels a statement with this one may count, until it works for all nodes. */
  readonly #shares = createLru<number>({ entries: 10_000 })
  readonly #leftOut = new LeftOut()
  /** The changes of channels that are left out. */
  readonly #waiting = new DirtyChannels()
  readonly #runs: PausedRuns[]

  constructor(readonly options: SlowCountsOptions) {
    const runsOf = (kind: Kind) =>
      new PausedRuns({
        pauseMs: options.pauseMs,
        work: () => this.#run(kind),
        isDue: () => REACHES.some((reach) => this.#groups(reach, kind).length > 0),
        onFailure: (error) => options.report(error, 'unread count failed'),
      })
    this.#runs = [runsOf('shared'), runsOf('alone')]
  }

  has(channelId: string) {
    return this.#shares.has(channelId)
  }

  /** A slow channel has changed. */
  mark(reach: Reach, channelId: string, change: ChannelChange) {
    if (this.#leftOut.has(channelId)) return this.#waiting.mark(channelId, change)
    this.#dirty[reach].mark(channelId, change)
    this.#schedule()
  }

  /** Takes over the channels of a statement that took too long. */
  add(reach: Reach, channels: DirtyChannels) {
    if (channels.size === 0) return
    const share = Math.ceil(channels.size / SLOW_PIECES)
    for (const id of channels.ids())
      this.#shares.set(id, Math.min(share, this.#shares.get(id) ?? share))
    this.#dirty[reach].add(channels)
    this.#schedule()
  }

  async stop() {
    await Promise.all(this.#runs.map((runs) => runs.stop()))
  }

  #schedule() {
    for (const runs of this.#runs) runs.schedule()
  }

  async #run(kind: Kind) {
    const slow: string[] = []
    for (const reach of REACHES) slow.push(...(await this.#countSome(reach, kind)))
    if (slow.length > 0) throw new Error(`Counting takes too long in channel ${slow.join(', ')}`)
  }

  /** Returns the channels that take too long alone. */
  async #countSome(reach: Reach, kind: Kind) {
    const slow: string[] = []
    for (const ids of this.#groups(reach, kind)) {
      const channels = this.#dirty[reach].take(ids)
      if (channels.size === 0) continue // the runs of the other kind have counted them
      const error = await this.#count(reach, channels)
      if (error === undefined) continue
      if (ids.length > 1) this.add(reach, channels)
      else {
        slow.push(...ids)
        if (reach === 'forAll') this.#dirty.forOwn.add(channels)
        else this.#leaveOut(channels, error)
      }
    }
    return slow
  }

  /** Counts them by one statement. Returns its error if it took too long. */
  async #count(reach: Reach, channels: DirtyChannels): Promise<unknown> {
    const { counter, onCounted } = this.options
    try {
      const counts = await counter.read(channels.ids(), reach)
      if (reach === 'forAll') for (const id of channels.ids()) this.#shares.delete(id)
      for (const id of channels.ids()) this.#leftOut.worked(id)
      onCounted(counts, channels)
      return undefined
    } catch (error) {
      if (isStatementTimeout(error)) return error
      this.#dirty[reach].add(channels)
      throw error
    }
  }

  #leaveOut(channels: DirtyChannels, error: unknown) {
    const ids = channels.ids()
    const onEnd = () => {
      this.#dirty.forOwn.add(this.#waiting.take(ids))
      this.#schedule()
    }
    const { forAll, forOwn } = this.#dirty
    for (const changes of [channels, forAll.take(ids), forOwn.take(ids)]) this.#waiting.add(changes)
    for (const id of ids) this.#leftOut.add(id, { error, onEnd })
  }

  /** The channels to count, as many together as each of them may be. */
  #groups(reach: Reach, kind: Kind) {
    const groups = new Map<number, string[][]>()
    for (const id of this.#dirty[reach].ids()) {
      const share = this.#shares.get(id) ?? 1
      const known = groups.get(share) ?? [[]]
      groups.set(share, known)
      if (known.at(-1)?.length === share) known.push([])
      known.at(-1)?.push(id)
    }
    return [...groups.values()].flat().filter((ids) => (ids.length === 1) === (kind === 'alone'))
  }
}
