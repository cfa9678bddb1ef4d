import { type ChatError, toChatError } from '../calls/error.ts'
import { createRetries } from '../calls/retry.ts'
import type { Total } from '../channels/unread.ts'
import { CHANNELS_PER_CALL, HIGHEST_REV, PARTS_PER_CALL } from '../generated/limits.ts'
import type { ChannelChanges, User, UserApi } from '../generated/types.ts'
import type { Connection } from './connection.ts'
import type { Emitter } from './events.ts'

type ChangesById = Record<string, ChannelChanges>
type CatchUpOptions = {
  api: Pick<UserApi, 'sync'>
  link: Connection
  emitter: Emitter
  presences: () => {
    /** Lets a call ask for users, too. */
    share: <Answer extends { users?: User[] | undefined; channels: ChangesById }>(
      call: (userIds: string[]) => Promise<Answer>,
    ) => Promise<Answer>
  }
}

/** The parts of what a room shows, besides the changes of its channel. */
const PARTS = ['pages', 'roots', 'threads', 'pins', 'members'] as const
export type RoomPart = (typeof PARTS)[number]
/** A request for what changed in a channel. */
type ChangesRequest = {
  /** Everything since this rev; null for the channel's record alone. */
  since: number | null
  /**
   * Applies the response, whose settings have this version; `true`, or a promise of it, if it
   * filled a gap in the channel's stores.
   */
  apply: (changes: ChannelChanges, settingsVersion: number) => unknown
  part?: RoomPart
  /** The channel, or the message with the thread. */
  id?: string
  /** Called if the call fails; without it the request is repeated. */
  fail?: (error: ChatError) => void
}

/** No channel reaches this rev, so the server responds with the channel's record alone. */
const CHANNEL_ONLY = HIGHEST_REV

/**
 * Fetches what was missed, and what rooms show, for any number of channels in as few calls as
 * possible.
 */
export class CatchUp {
  #pending = new Map<string, ChangesRequest[]>()
  /** Takes the total of unread messages; undefined while it is not requested. */
  #applyTotal: ((response: Total) => void) | undefined
  #running: Promise<void> | undefined
  /** Ends the call of a connection that is lost: its answer may be lost, too, or be old by then. */
  #abort = new AbortController()
  #timer: ReturnType<typeof setTimeout> | undefined
  /** Whether requests wait for `run()`, which comes once topics are subscribed. */
  isHeld = true
  readonly #retries = createRetries(() => this.#runOrRetry())

  constructor(readonly options: CatchUpOptions) {}

  /** Whether a call is coming: what it depends on is under way, or its answer is. */
  get isExpected() {
    const { isConnecting } = this.options.link
    return isConnecting || (!this.isHeld && (this.#pending.size > 0 || !!this.#running))
  }

  /** Adds a request to the next call. */
  request(channelId: string, request: ChangesRequest) {
    this.#add(channelId, [request])
    this.#runSoon(request.fail)
  }

  /**
   * Fetches a part of a room with the next call. The response may lack it: if there was no room for
   * it, from an older server, and without a connection. A thread has the `id` of its first message.
   */
  async load(channelId: string, part: RoomPart, id = channelId): Promise<ChannelChanges> {
    if (!this.options.link.isConnected) return {}
    return new Promise((apply, fail) =>
      this.request(channelId, { since: null, apply, part, id, fail }),
    )
  }

  /** Adds the total of unread messages to the next call. */
  requestTotal(apply: (response: Total) => void) {
    this.#applyTotal = apply
    this.#runSoon()
  }

  /** A request that may fail for good must not wait for those that are repeated. */
  #runSoon(isUrgent?: unknown) {
    if (this.isHeld || (!isUrgent && this.#retries.isWaiting)) return
    // Delayed, so that topics subscribed in the same tick share a call.
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.#runOrRetry())
  }

  /**
   * Handles the loss of the connection: requests wait for the next one, to share its first call,
   * and so do those of the running call.
   */
  hold() {
    this.isHeld = true
    this.#running = undefined
    this.#abort.abort()
    this.#abort = new AbortController()
    clearTimeout(this.#timer)
    this.#retries.end()
  }

  /** Resolves when no request is pending. */
  run(): Promise<void> {
    this.isHeld = false
    if (this.#running) return this.#running
    // Its requests are in this run, whose caller repeats it if it fails.
    clearTimeout(this.#timer)
    const running = this.#run().finally(() => {
      if (this.#running === running) this.#running = undefined
    })
    this.#running = running
    return running
  }

  /** Nothing is repeated while offline: the next connection runs it. */
  #runOrRetry() {
    this.run().then(this.#retries.end, (error) => {
      if (!this.isHeld) this.#retries.later(error)
    })
  }

  async #run() {
    const channelIds: string[] = []
    try {
      while (this.#pending.size > 0 || this.#applyTotal) {
        const batch = [...this.#pending].slice(0, CHANNELS_PER_CALL)
        for (const [channelId] of batch) this.#pending.delete(channelId)
        channelIds.push(...(await this.#pull(batch)))
      }
    } finally {
      // Gaps that were filled before a later call failed are not asked for again.
      if (channelIds.length > 0) this.options.emitter.emit({ type: 'resync', channelIds })
    }
  }

  /** Pulls the changes of a batch; resolves to the channels with a gap that was filled. */
  async #pull(batch: [string, ChangesRequest[]][]) {
    const { signal } = this.#abort
    const channels = Object.fromEntries(
      batch.map(([channelId, requests]) => [channelId, lowestRev(requests)]),
    )
    const parts = Object.fromEntries(PARTS.map((part) => [part, idsOf(batch, part)]))
    const applyTotal = this.#applyTotal
    const total = applyTotal !== undefined
    try {
      const { api, presences } = this.options
      const response = await presences().share((userIds) =>
        api.sync.pull({ channels, ...parts, total, userIds }, { signal }),
      )
      if (applyTotal === this.#applyTotal) this.#applyTotal = undefined
      applyTotal?.(response)
      const applied = batch.map(async ([channelId, requests]) => {
        // Without an answer each request is on its own, and its next call says what is wrong.
        const changes = response.channels[channelId] ?? {}
        if (changes.more && !changes.channel) {
          // The response had no room for this channel.
          this.#add(channelId, requests)
          return []
        }
        const { settingsVersion } = response
        const filledGaps = await Promise.all(
          requests.map(({ apply }) => apply(changes, settingsVersion)),
        )
        return filledGaps.includes(true) ? [channelId] : []
      })
      return (await Promise.all(applied)).flat()
    } catch (error) {
      const isKept = signal.aborted && this.options.link.isWanted
      for (const [channelId, requests] of batch)
        this.#add(channelId, isKept ? requests : withoutFailing(requests, toChatError(error)))
      throw error
    }
  }

  #add(channelId: string, requests: ChangesRequest[]) {
    if (requests.length === 0) return
    this.#pending.set(channelId, [...(this.#pending.get(channelId) ?? []), ...requests])
  }
}

/** Fails the requests that can, and returns those to be repeated. */
const withoutFailing = (requests: ChangesRequest[], error: ChatError) =>
  requests.filter(({ fail }) => {
    fail?.(error)
    return !fail
  })

const idsOf = (batch: [string, ChangesRequest[]][], part: RoomPart) => {
  const wanted = batch.flatMap(([, requests]) => requests.filter((each) => each.part === part))
  return [...new Set(wanted.map(({ id }) => id))].slice(0, PARTS_PER_CALL)
}

const lowestRev = (requests: ChangesRequest[]) => {
  const revs = requests.flatMap(({ since }) => since ?? [])
  return revs.length === 0 ? CHANNEL_ONLY : Math.min(...revs)
}
