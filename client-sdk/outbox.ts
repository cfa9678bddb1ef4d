import { ChatError, toChatError } from './error.ts'
import type { OutboxStorage, Outgoing } from './storage.ts'
import { backoff } from './timing.ts'
import type { Message, UserApi } from './types.ts'

type Entry = { outgoing: Outgoing; sent: Deferred; error?: ChatError | undefined; result?: Message }
type Sending = { attempts: number; timer?: ReturnType<typeof setTimeout> | undefined }
type Deferred = { promise: Promise<Message>; resolve: (message: Message) => void; reject: (error: ChatError) => void }
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
  readonly #entries = new Map<string, Entry>()
  readonly #sending = new Map<string, Sending>()
  #owner: string | undefined
  #lastAt = 0

  constructor(readonly options: Options) {}

  /** From now on this user's; takes up what was kept of him. */
  async open(owner: string) {
    if (this.#owner === owner) return
    this.#owner = owner
    const kept = await this.options.storage.load(owner).catch((error) => {
      this.options.report(error)
      return []
    })
    for (const outgoing of kept) if (!this.#entries.has(outgoing.clientId)) this.#entries.set(outgoing.clientId, entryOf(outgoing))
    for (const { outgoing } of this.#entries.values()) this.#keep(outgoing)
    this.flush()
  }

  /** Whose messages these are is known. */
  get isOpen() {
    return this.#owner !== undefined
  }

  /** The entries of a channel, in the order they were sent. */
  of(channelId: string): readonly Entry[] {
    return [...this.#entries.values()].filter(({ outgoing }) => outgoing.channelId === channelId)
  }

  get(clientId: string) {
    return this.#entries.get(clientId)
  }

  add(draft: Omit<Outgoing, 'createdAt'>): Entry {
    // No two have the same, so that it tells their order.
    this.#lastAt = Math.max(Date.now(), this.#lastAt + 1)
    const outgoing = { ...draft, createdAt: new Date(this.#lastAt).toISOString() }
    const entry = entryOf(outgoing)
    this.#entries.set(outgoing.clientId, entry)
    this.#keep(outgoing)
    this.options.onChange(outgoing.channelId)
    void this.#send(outgoing.channelId)
    return entry
  }

  retry(clientId: string) {
    const entry = this.#entries.get(clientId)
    if (!entry?.error) return
    this.discard(clientId)
    const { failure: _, ...outgoing } = entry.outgoing
    const again = this.add(outgoing)
    again.sent.promise.then(entry.sent.resolve, entry.sent.reject)
  }

  discard(clientId: string) {
    const entry = this.#entries.get(clientId)
    if (!entry) return
    this.#remove(entry)
    entry.sent.reject(new ChatError('the message was discarded', { code: 'ABORTED' }))
  }

  /** The network is back: nobody waits any longer. */
  flush() {
    for (const channelId of new Set([...this.#entries.values()].map(({ outgoing }) => outgoing.channelId))) {
      const sending = this.#sending.get(channelId)
      if (sending && !sending.timer) continue
      clearTimeout(sending?.timer)
      this.#sending.delete(channelId)
      void this.#send(channelId)
    }
  }

  stop() {
    for (const { timer } of this.#sending.values()) clearTimeout(timer)
    this.#sending.clear()
    this.#entries.clear()
    this.#owner = undefined
  }

  async #send(channelId: string) {
    if (this.#sending.has(channelId) || !this.isOpen) return
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
      if (isPassing(error)) return Math.max(error.retryAfterMs ?? 0, backoff(attempts, { leastMs: 500, mostMs: 30_000 }))
      if (!this.#entries.has(entry.outgoing.clientId)) return undefined
      entry.error = error
      entry.outgoing = { ...entry.outgoing, failure: { code: error.code, message: error.message, status: error.status } }
      this.#keep(entry.outgoing)
      this.options.onChange(entry.outgoing.channelId)
      entry.sent.reject(error)
    }
  }

  #remove({ outgoing: { clientId, channelId } }: Entry) {
    this.#entries.delete(clientId)
    if (this.#owner !== undefined) this.options.storage.delete(this.#owner, clientId).catch(this.options.report)
    this.options.onChange(channelId)
  }

  #keep(outgoing: Outgoing) {
    if (this.#owner !== undefined) this.options.storage.put(this.#owner, outgoing).catch(this.options.report)
  }
}

/** No fault of the message: without a network, or a token, it waits. */
const isPassing = ({ retryable, code }: ChatError) => retryable || code === 'INVALID_TOKEN' || code === 'UNAUTHORIZED'

function entryOf(outgoing: Outgoing): Entry {
  let settle: Omit<Deferred, 'promise'> | undefined
  const promise = new Promise<Message>((resolve, reject) => {
    settle = { resolve, reject }
  })
  promise.catch(() => {}) // whether anybody awaits it is up to the application
  const { failure } = outgoing
  const error = failure && new ChatError(failure.message, { code: failure.code as ChatError['code'], status: failure.status }) // as it was kept
  return { outgoing, error, sent: { promise, resolve: () => {}, reject: () => {}, ...settle } }
}
