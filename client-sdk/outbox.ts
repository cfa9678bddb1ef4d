import { ChatError, toChatError } from './error.ts'
import type { OutboxStorage, Outgoing } from './storage.ts'
import { backoff } from './timing.ts'
import type { Message, UserApi } from './types.ts'

type Entry = { outgoing: Outgoing; sent: Deferred; error?: ChatError | undefined; result?: Message }
type Sending = { attempts: number; timer?: ReturnType<typeof setTimeout> | undefined }
type Deferred = {
  promise: Promise<Message>
  resolve: (message: Message) => void
  reject: (error: ChatError) => void
}
type Options = {
  api: Pick<UserApi, 'messages'>
  storage: OutboxStorage
  /** The entries of a channel have changed. */
  onChange: (channelId: string) => void
  onSent: (message: Message) => void
  report: (error: unknown) => void
}

/**
 * Messages on their way. Those of one channel are sent one after another, and again with the same `clientId` until the
 * server has answered, so that each is stored once, in order. A refused one waits for the user and holds up nobody.
 */
export class Outbox {
  #entries = new Map<string, Entry>()
  readonly #sending = new Map<string, Sending>()
  #owner: string | undefined
  #isOpen = false
  #isPaused = false
  #lastAt = 0
  /** Storages may do what they are asked in any order. */
  #storing: Promise<unknown> = Promise.resolve()

  constructor(readonly options: Options) {}

  /** From now on this user's; takes up what was kept of him, before what he has written since. */
  async open(owner: string) {
    if (this.#owner === owner) return
    this.#owner = owner
    const kept = await this.options.storage.load(owner).catch((error) => {
      this.options.report(error)
      return []
    })
    const waiting = this.#entries
    this.#entries = new Map([
      ...kept.map((outgoing) => [outgoing.clientId, entryOf(outgoing)] as const),
      ...waiting,
    ])
    for (const { outgoing } of waiting.values()) this.#keep(outgoing)
    this.#isOpen = true
    for (const channelId of this.#channelIds()) this.options.onChange(channelId)
    if (!this.#isPaused) this.flush()
  }

  /** The entries of a channel, in the order they were sent. */
  of(channelId: string): readonly Entry[] {
    return [...this.#entries.values()].filter(({ outgoing }) => outgoing.channelId === channelId)
  }

  get(clientId: string) {
    return this.#entries.get(clientId)
  }

  add(draft: Omit<Outgoing, 'createdAt'>): Entry {
    const entry = entryOf(this.#dated(draft))
    this.#enter(entry)
    return entry
  }

  /** Sends a failed one again, after what was written since. */
  retry(clientId: string) {
    const entry = this.#entries.get(clientId)
    if (!entry?.error) return
    const { failure: _, ...outgoing } = entry.outgoing
    this.#entries.delete(clientId)
    this.#enter(Object.assign(entry, entryOf(this.#dated(outgoing))))
  }

  discard(clientId: string) {
    const entry = this.#entries.get(clientId)
    if (!entry) return
    this.#remove(entry)
    entry.sent.reject(new ChatError('the message was discarded', { code: 'ABORTED' }))
  }

  /** The network is back: nobody waits any longer. */
  flush() {
    this.#isPaused = false
    for (const channelId of this.#channelIds()) {
      const sending = this.#sending.get(channelId)
      if (sending && !sending.timer) continue
      clearTimeout(sending?.timer)
      this.#sending.delete(channelId)
      void this.#send(channelId)
    }
  }

  /** Nothing more goes out until `flush()`. */
  pause() {
    this.#isPaused = true
    for (const { timer } of this.#sending.values()) clearTimeout(timer)
    this.#sending.clear()
  }

  #channelIds() {
    return new Set([...this.#entries.values()].map(({ outgoing }) => outgoing.channelId))
  }

  /** No two have the same date, so that it tells their order. */
  #dated(draft: Omit<Outgoing, 'createdAt'>): Outgoing {
    this.#lastAt = Math.max(Date.now(), this.#lastAt + 1)
    return { ...draft, createdAt: new Date(this.#lastAt).toISOString() }
  }

  #enter(entry: Entry) {
    const { clientId, channelId } = entry.outgoing
    this.#entries.set(clientId, entry)
    this.#keep(entry.outgoing)
    this.options.onChange(channelId)
    void this.#send(channelId)
  }

  async #send(channelId: string) {
    if (this.#sending.has(channelId) || !this.#isOpen || this.#isPaused) return
    const sending: Sending = { attempts: 0 }
    this.#sending.set(channelId, sending)
    while (this.#sending.get(channelId) === sending) {
      const next = this.of(channelId).find(({ error }) => !error)
      if (!next) break
      const pauseMs = await this.#sendOne(next, ++sending.attempts)
      if (pauseMs === undefined) sending.attempts = 0
      else await this.#rest(sending, pauseMs)
    }
    if (this.#sending.get(channelId) === sending) this.#sending.delete(channelId)
  }

  async #rest(sending: Sending, pauseMs: number) {
    await new Promise<void>((resolve) => {
      sending.timer = setTimeout(resolve, pauseMs)
    })
    sending.timer = undefined
  }

  /** Answers with how long to wait before another attempt; undefined when its fate is known. */
  async #sendOne(entry: Entry, attempts: number) {
    const { createdAt: _, failure: __, ...args } = entry.outgoing
    try {
      const message = await this.options.api.messages.send(args)
      entry.result = message
      this.options.onSent(message)
      this.#remove(entry)
      entry.sent.resolve(message)
    } catch (cause) {
      const error = toChatError(cause)
      if (isPassing(error))
        return Math.max(
          error.retryAfterMs ?? 0,
          backoff(attempts, { leastMs: 500, mostMs: 30_000 }),
        )
      if (!this.#entries.has(entry.outgoing.clientId)) return undefined
      entry.error = error
      entry.outgoing = {
        ...entry.outgoing,
        failure: { code: error.code, message: error.message, status: error.status },
      }
      this.#keep(entry.outgoing)
      this.options.onChange(entry.outgoing.channelId)
      entry.sent.reject(error)
    }
  }

  #remove({ outgoing: { clientId, channelId } }: Entry) {
    this.#entries.delete(clientId)
    this.#store((storage, owner) => storage.delete(owner, clientId))
    this.options.onChange(channelId)
  }

  #keep(outgoing: Outgoing) {
    this.#store((storage, owner) => storage.put(owner, outgoing))
  }

  #store(work: (storage: OutboxStorage, owner: string) => Promise<void>) {
    const { storage, report } = this.options
    const owner = this.#owner
    if (owner !== undefined)
      this.#storing = this.#storing.then(() => work(storage, owner)).catch(report)
  }
}

/** No fault of the message: without a network, or a token, it waits. */
const isPassing = ({ retryable, code }: ChatError) =>
  retryable || code === 'INVALID_TOKEN' || code === 'UNAUTHORIZED'

function entryOf(outgoing: Outgoing): Entry {
  let settle: Omit<Deferred, 'promise'> | undefined
  const promise = new Promise<Message>((resolve, reject) => {
    settle = { resolve, reject }
  })
  promise.catch(() => {}) // whether anybody awaits it is up to the application
  const { failure } = outgoing
  const error =
    failure &&
    new ChatError(failure.message, {
      code: failure.code as ChatError['code'],
      status: failure.status,
    }) // as it was kept
  return { outgoing, error, sent: { promise, resolve: () => {}, reject: () => {}, ...settle } }
}
