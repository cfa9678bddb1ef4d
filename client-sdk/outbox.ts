import { ChatError, toChatError } from './error.ts'
import { pause } from './retry.ts'
import type { ChatMessage } from './room/state.ts'
import type { OutboxStorage, Outgoing } from './storage.ts'
import { createDeferred, type Deferred } from './timing.ts'
import type { Message, UserApi } from './types.ts'

export type OutboxEntry = {
  outgoing: Outgoing
  sent: Deferred<Message>
  /** Why the server refused it. */
  error?: ChatError | undefined
  waiting: ChatMessage['waiting']
  /** How often the server failed at this message although it worked otherwise. */
  serverFailures: number
  /** The server's message, once it is sent. */
  message?: Message
}
/** The loop that sends the messages of a channel. With a timer it waits before the next attempt. */
type SendLoop = { attempts: number; timer?: ReturnType<typeof setTimeout> | undefined }
type OutboxOptions = {
  api: Pick<UserApi, 'messages'>
  storage: OutboxStorage
  /** Whether the server works, as far as the socket shows. */
  isConnected: () => boolean
  /** The entries of a channel have changed. */
  onChange: (channelId: string) => void
  onSent: (message: Message) => void
  onError: (error: unknown) => void
}

/** A message that the server failed at this often would stop those behind it for ever. */
const MAX_SERVER_FAILURES = 10

/**
 * Unsent messages. Those of a channel are sent one at a time, and retried with the same `clientId`
 * until the server responds: each is stored once, in order. A refused message stays until the user
 * retries or discards it; the next ones are sent.
 */
export class Outbox {
  #entries = new Map<string, OutboxEntry>()
  readonly #loops = new Map<string, SendLoop>()
  #owner: string | undefined
  #isOpen = false
  #isPaused = false
  #lastCreatedAt = 0
  /** Writes are queued: a storage may carry out concurrent ones in any order. */
  #writes: Promise<unknown> = Promise.resolve()

  constructor(readonly options: OutboxOptions) {}

  /** Loads the owner's stored messages; they go before those written since. */
  async open(owner: string) {
    if (this.#owner === owner) return
    this.#owner = owner
    const stored = await this.options.storage.load(owner).catch((error) => {
      this.options.onError(error)
      return []
    })
    const added = this.#entries
    this.#entries = new Map([
      ...stored.map((outgoing) => [outgoing.clientId, createEntry(outgoing)] as const),
      ...added,
    ])
    for (const { outgoing } of added.values()) this.#store(outgoing)
    this.#isOpen = true
    for (const channelId of this.#channelIds()) this.options.onChange(channelId)
    if (!this.#isPaused) this.flush()
  }

  /** The entries of a channel, in the order they were sent. */
  entriesOf(channelId: string): readonly OutboxEntry[] {
    return [...this.#entries.values()].filter(({ outgoing }) => outgoing.channelId === channelId)
  }

  get(clientId: string) {
    return this.#entries.get(clientId)
  }

  add(draft: Omit<Outgoing, 'createdAt'>): OutboxEntry {
    const entry = createEntry(this.#withCreatedAt(draft))
    this.#enqueue(entry)
    return entry
  }

  /** Sends a failed message again, after those written since. */
  retry(clientId: string) {
    const entry = this.#entries.get(clientId)
    if (!entry?.error) return
    const { failure: _, ...outgoing } = entry.outgoing
    this.#entries.delete(clientId)
    this.#enqueue(Object.assign(entry, createEntry(this.#withCreatedAt(outgoing))))
  }

  discard(clientId: string) {
    const entry = this.#entries.get(clientId)
    if (!entry) return
    this.#remove(entry)
    entry.sent.reject(new ChatError('the message was discarded', { code: 'ABORTED' }))
  }

  /** The network is back: sends at once what waits for another attempt. */
  flush() {
    this.#isPaused = false
    for (const channelId of this.#channelIds()) {
      const loop = this.#loops.get(channelId)
      if (loop && !loop.timer) continue
      clearTimeout(loop?.timer)
      this.#loops.delete(channelId)
      void this.#sendAll(channelId)
    }
  }

  /** Sends nothing more until `flush()`. */
  pause() {
    this.#isPaused = true
    for (const [channelId, { timer }] of this.#loops) {
      // A loop that waits for a response ends by itself.
      if (!timer) continue
      clearTimeout(timer)
      this.#loops.delete(channelId)
    }
    for (const entry of this.#entries.values()) this.#setWaiting(entry, undefined)
  }

  #channelIds() {
    return new Set([...this.#entries.values()].map(({ outgoing }) => outgoing.channelId))
  }

  /** No two messages have the same time, so that sorting by it restores their order. */
  #withCreatedAt(draft: Omit<Outgoing, 'createdAt'>): Outgoing {
    this.#lastCreatedAt = Math.max(Date.now(), this.#lastCreatedAt + 1)
    return { ...draft, createdAt: new Date(this.#lastCreatedAt).toISOString() }
  }

  #enqueue(entry: OutboxEntry) {
    const { clientId, channelId } = entry.outgoing
    this.#entries.set(clientId, entry)
    this.#store(entry.outgoing)
    this.options.onChange(channelId)
    void this.#sendAll(channelId)
  }

  async #sendAll(channelId: string) {
    if (this.#loops.has(channelId) || !this.#isOpen || this.#isPaused) return
    const loop: SendLoop = { attempts: 0 }
    this.#loops.set(channelId, loop)
    while (this.#loops.get(channelId) === loop && !this.#isPaused) {
      const next = this.entriesOf(channelId).find(({ error }) => !error)
      if (!next) break
      const delayMs = await this.#send(next, ++loop.attempts)
      if (delayMs === undefined) loop.attempts = 0
      else if (!this.#isPaused) await this.#wait(loop, delayMs)
    }
    if (this.#loops.get(channelId) === loop) this.#loops.delete(channelId)
  }

  async #wait(loop: SendLoop, delayMs: number) {
    await new Promise<void>((resolve) => {
      loop.timer = setTimeout(resolve, delayMs)
    })
    loop.timer = undefined
  }

  /**
   * Resolves to the delay before the next attempt; undefined if the message was sent or refused.
   */
  async #send(entry: OutboxEntry, attempt: number) {
    const { createdAt: _, failure: __, ...args } = entry.outgoing
    this.#setWaiting(entry, undefined)
    try {
      const message = await this.options.api.messages.send(args)
      entry.message = message
      this.options.onSent(message)
      this.#remove(entry)
      entry.sent.resolve(message)
    } catch (cause) {
      const error = toChatError(cause)
      if (this.#mayPass(entry, error)) {
        const delayMs = pause('background', attempt, error.retryAfterMs)
        const until = new Date(Date.now() + delayMs).toISOString()
        if (!this.#isPaused) this.#setWaiting(entry, { until, error })
        return delayMs
      }
      if (this.#entries.has(entry.outgoing.clientId)) this.#fail(entry, error)
    }
    return undefined
  }

  /** Whether to try again: not for ever, if it is this message that the server cannot store. */
  #mayPass(entry: OutboxEntry, error: ChatError) {
    if (isServerFailure(error) && this.options.isConnected()) entry.serverFailures += 1
    return isTemporary(error) && entry.serverFailures < MAX_SERVER_FAILURES
  }

  #setWaiting(entry: OutboxEntry, waiting: ChatMessage['waiting']) {
    if (entry.waiting === waiting) return
    entry.waiting = waiting
    this.options.onChange(entry.outgoing.channelId)
  }

  #fail(entry: OutboxEntry, error: ChatError) {
    const { code, message, status } = error
    entry.error = error
    entry.outgoing = { ...entry.outgoing, failure: { code, message, status } }
    this.#store(entry.outgoing)
    this.options.onChange(entry.outgoing.channelId)
    entry.sent.reject(error)
  }

  #remove({ outgoing: { clientId, channelId } }: OutboxEntry) {
    this.#entries.delete(clientId)
    this.#write((storage, owner) => storage.delete(owner, clientId))
    this.options.onChange(channelId)
  }

  #store(outgoing: Outgoing) {
    this.#write((storage, owner) => storage.put(owner, outgoing))
  }

  #write(work: (storage: OutboxStorage, owner: string) => Promise<void>) {
    const { storage, onError } = this.options
    const owner = this.#owner
    if (owner !== undefined)
      this.#writes = this.#writes.then(() => work(storage, owner)).catch(onError)
  }
}

/** Not the message's fault: without a network or a valid token it waits. */
const isTemporary = ({ retryable, code }: ChatError) =>
  retryable || code === 'INVALID_TOKEN' || code === 'UNAUTHORIZED'

/** A 5xx, but for the 503 of a server that refuses work in general. */
const isServerFailure = ({ status }: ChatError) => status >= 500 && status !== 503

function createEntry(outgoing: Outgoing): OutboxEntry {
  const { failure } = outgoing
  const error =
    failure &&
    new ChatError(failure.message, {
      code: failure.code as ChatError['code'], // as it was stored
      status: failure.status,
    })
  return { outgoing, error, waiting: undefined, serverFailures: 0, sent: createDeferred() }
}
