import type { Connection } from './connection.ts'
import type { Emitter } from './events.ts'
import type { ChannelChanges, UserApi } from './types.ts'

type CatchUpOptions = { api: Pick<UserApi, 'sync'>; connection: Connection; events: Emitter }

/** A request for what changed in a channel. */
type ChangesRequest = {
  /** Everything since this rev; null for the channel's record alone. */
  since: number | null
  /** Applies the response; true if it filled a gap in the channel's stores. */
  apply: (changes: ChannelChanges) => Promise<boolean> | boolean
}

const CHANNELS_PER_CALL = 200
/** A failed call is repeated after this pause, or when the connection returns. */
const RETRY_MS = 3_000
/** No channel reaches this rev, so the server responds with the channel's record alone. */
const CHANNEL_ONLY = 2_147_483_647

/** Fetches missed changes for any number of channels in as few calls as possible. */
export class CatchUp {
  #pending = new Map<string, ChangesRequest[]>()
  #running: Promise<void> | undefined
  #timer: ReturnType<typeof setTimeout> | undefined

  constructor(readonly options: CatchUpOptions) {}

  /** Adds a request to the next call. */
  request(channelId: string, request: ChangesRequest) {
    this.#pending.set(channelId, [...(this.#pending.get(channelId) ?? []), request])
    // Not at once: topics that are subscribed in the same tick share a call.
    this.#runIn(0)
  }

  /** Resolves when no request is pending. */
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

  /** While offline there is no timer: the next connection runs it. */
  #retryLater() {
    const { status } = this.options.connection.state.getSnapshot()
    if (status !== 'offline') this.#runIn(RETRY_MS)
  }

  async #run() {
    const channelIds: string[] = []
    while (this.#pending.size > 0) {
      const batch = [...this.#pending].slice(0, CHANNELS_PER_CALL)
      for (const [channelId] of batch) this.#pending.delete(channelId)
      channelIds.push(...(await this.#pull(batch)))
    }
    if (channelIds.length > 0) this.options.events.emit({ type: 'resync', channelIds })
  }

  /** Pulls the changes of a batch; resolves to the channels with a gap that was filled. */
  async #pull(batch: [string, ChangesRequest[]][]) {
    const channels = Object.fromEntries(
      batch.map(([channelId, requests]) => [channelId, lowestRev(requests)]),
    )
    try {
      const response = await this.options.api.sync.pull({ channels })
      const applied = batch.map(async ([channelId, requests]) => {
        const changes = response.channels[channelId]
        if (!changes) return []
        if (changes.more && !changes.channel) {
          // The response had no room for this channel.
          this.#repeat(channelId, requests)
          return []
        }
        const filledGaps = await Promise.all(requests.map(({ apply }) => apply(changes)))
        return filledGaps.includes(true) ? [channelId] : []
      })
      return (await Promise.all(applied)).flat()
    } catch (error) {
      for (const [channelId, requests] of batch) this.#repeat(channelId, requests)
      throw error
    }
  }

  #repeat(channelId: string, requests: ChangesRequest[]) {
    this.#pending.set(channelId, [...requests, ...(this.#pending.get(channelId) ?? [])])
  }
}

const lowestRev = (requests: ChangesRequest[]) => {
  const revs = requests.flatMap(({ since }) => since ?? [])
  return revs.length === 0 ? CHANNEL_ONLY : Math.min(...revs)
}
