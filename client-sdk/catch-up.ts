import type { ClientContext } from './context.ts'
import type { ChannelChanges } from './types.ts'

/** Somebody who wants to know what became of a channel: everything since a rev, or with `null` only how the channel is now. */
type Asker = {
  since: number | null
  take: (changes: ChannelChanges) => Promise<'healed' | 'told'> | 'healed' | 'told'
}

const CHANNELS_A_CALL = 200
/** What could not be asked is asked again after so long, or when the connection is back. */
const RETRY_MS = 3_000
/** The server has no such rev, so it answers with the channel alone. */
const CHANNEL_ONLY = 2_147_483_647

/** What the live parts of a client share. */
export type LiveContext = ClientContext & { catchUp: CatchUp }

/** Learns what was missed, of however many channels, in as few calls as there can be. */
export class CatchUp {
  #askers = new Map<string, Asker[]>()
  #running: Promise<void> | undefined
  #timer: ReturnType<typeof setTimeout> | undefined

  constructor(readonly context: () => Pick<ClientContext, 'api' | 'connection' | 'events'>) {}

  /** Asks for a channel; the answer comes with the next call. */
  ask(channelId: string, asker: Asker) {
    this.#askers.set(channelId, [...(this.#askers.get(channelId) ?? []), asker])
    // Topics that come back together are asked for together.
    this.#runIn(0)
  }

  /** Resolves when nobody waits any longer. */
  run(): Promise<void> {
    this.#running ??= this.#run().finally(() => {
      this.#running = undefined
    })
    return this.#running
  }

  #runIn(ms: number) {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => void this.run().catch(() => this.#retryLater()), ms)
  }

  /** While offline nothing is tried: who connects runs it. */
  #retryLater() {
    if (this.context().connection.state.getSnapshot().status !== 'offline') this.#runIn(RETRY_MS)
  }

  async #run() {
    const healed: string[] = []
    while (this.#askers.size > 0) {
      const batch = [...this.#askers].slice(0, CHANNELS_A_CALL)
      for (const [channelId] of batch) this.#askers.delete(channelId)
      healed.push(...(await this.#ask(batch)))
    }
    if (healed.length > 0) this.context().events.emit({ type: 'resync', channelIds: healed })
  }

  async #ask(batch: [string, Asker[]][]) {
    const channels = Object.fromEntries(
      batch.map(([channelId, askers]) => [channelId, lowest(askers)]),
    )
    try {
      const answer = await this.context().api.sync.pull({ channels })
      const told = batch.map(async ([channelId, askers]) => {
        const changes = answer.channels[channelId]
        if (!changes) return []
        const outcomes = await Promise.all(askers.map((asker) => asker.take(changes)))
        return outcomes.includes('healed') ? [channelId] : []
      })
      return (await Promise.all(told)).flat()
    } catch (error) {
      for (const [channelId, askers] of batch)
        this.#askers.set(channelId, [...askers, ...(this.#askers.get(channelId) ?? [])])
      throw error
    }
  }
}

const lowest = (askers: Asker[]) => {
  const revs = askers.flatMap(({ since }) => since ?? [])
  return revs.length === 0 ? CHANNEL_ONLY : Math.min(...revs)
}
