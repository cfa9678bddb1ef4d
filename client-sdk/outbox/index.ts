import { type OutboxOperation, type Outgoing, withoutApp } from '../backing-store/storage.ts'
import { aborted, type ChatError, loggedOut } from '../calls/error.ts'
import type { Message } from '../generated/types.ts'
import {
  createEntry,
  isOutgoing,
  isSend,
  type OutboxEntry,
  referencesTo,
  toStored,
} from './entry.ts'
import { prepare, rebase, targetFailed } from './fold.ts'
import { dated, Journal } from './journal.ts'
import { mergeStored, showMerged } from './merge.ts'
import type { OutboxOptions } from './options.ts'
import { Sender } from './sender.ts'
import type { NewOperation } from './steps.ts'
import { applyTabChange } from './tab-changes.ts'
import { type Outcome, Tabs } from './tabs.ts'

/**
 * Operations of the user that the server does not have yet. Those of a channel are sent in order
 * and retried, each with one effect. A refused message stays until the user retries or
 * discards it; any other refused operation is taken back. Of several tabs, one sends.
 */
export class Outbox {
  #entries = new Map<string, OutboxEntry>()
  #isPaused = false
  /** The user has logged out. */
  #isClosed = false
  #isLoaded = false
  readonly #tabs: Tabs
  readonly #journal: Journal
  readonly sender: Sender

  constructor(readonly options: OutboxOptions) {
    this.#tabs = new Tabs({
      onEnded: () => void options.isLoggedIn(false),
      onChanged: (change) => {
        this.#journal.follow(change)
        applyTabChange(change, {
          queued: this.#entries,
          isSender: this.#tabs.isSender,
          onStep: options.onStep,
          onSent: (entry, sent) => this.#handleSent(entry, sent),
          onChanged: ({ op }) => {
            options.onChanged(op.channelId)
            if (this.#tabs.isSender) this.sender.run(op)
          },
        })
      },
      onElected: (isSender) => (isSender ? this.sender.flush() : this.sender.pause()),
    })
    this.#journal = new Journal({ ...options, tabs: this.#tabs })
    this.sender = new Sender({
      ...options,
      queued: () => this.#entries.values(),
      prepare: (entry) =>
        prepare(entry, {
          queued: this.#entries,
          update: this.#update,
          replace: (each, by) => this.#replace(each, by),
          complete: (each) => this.#handleDone(each, { success: true }),
          refuse: (each, error) => this.#fail(each, error),
          withdraw: ({ op }) => this.withdraw(op.clientId),
        }),
      onDone: (entry, result) => this.#handleDone(entry, result),
      onRefused: (entry, error) => this.#fail(entry, error),
    })
  }

  /** Loads the owner's stored operations; they go before those that the same user made since. */
  async openFor(owner: string) {
    const { owner: former } = this.#journal
    if (former === owner) return
    if (former !== undefined && former !== withoutApp(owner)) this.#forget()
    this.sender.halt()
    this.#tabs.leave()
    this.#journal.owner = owner
    const unstored = former === undefined ? this.#entries.values() : []
    for (const { op } of unstored) this.#journal.put(op)
    await this.#start(owner)
  }

  /** Joins the other tabs and loads what they, or pages before, have stored. */
  async #start(owner: string | undefined) {
    this.#isLoaded = false
    if (this.#tabs.hasLeft && !(await this.options.isLoggedIn(true))) return
    this.#join()
    const stored = await this.#journal.load()
    if (owner !== this.#journal.owner) return
    if (stored) {
      const merged = mergeStored(this.#entries, stored)
      this.#entries = merged.queued
      showMerged(merged, this.options)
    }
    this.#isLoaded = true
    if (this.#isPaused) return
    // A pause during the load has left the other tabs.
    this.#join()
    this.#tabs.apply()
  }

  /** The entries of a channel, in the order they were made. */
  entriesOf(channelId: string): readonly OutboxEntry[] {
    return [...this.#entries.values()].filter(({ op }) => op.channelId === channelId)
  }

  readonly get = (clientId: string) => this.#entries.get(clientId)

  add(made: NewOperation): OutboxEntry {
    const entry = createEntry(dated(made))
    if (!this.#isClosed) this.#enqueue(entry)
    else entry.completion.reject(loggedOut())
    return entry
  }

  /** Sends a failed message again, with what was done to it since. */
  retry(clientId: string) {
    for (const each of this.#entries.values())
      if (targetFailed(each, this.#entries)) this.sender.options.prepare(each)
    const entry = this.#entries.get(clientId)
    if (!entry?.error) return
    const { failure: _, ...op } = entry.op
    this.#entries.delete(clientId)
    this.#enqueue(Object.assign(entry, createEntry(dated(op))))
  }

  withdraw(clientId: string) {
    const entry = this.#entries.get(clientId)
    if (!entry) return
    const error = aborted('discarded')
    this.#remove(entry, { error: toStored(error) })
    entry.completion.reject(error)
  }

  /** The network is back: sends at once what waits. A tab that was shown takes over from others. */
  flush({ isShown = false } = {}) {
    this.#isPaused = false
    if (!this.#isLoaded) return
    // Operations that other tabs have sent or discarded meanwhile must not be sent.
    if (isShown || this.#tabs.hasLeft) void this.#start(this.#journal.owner)
    else if (this.#tabs.isSender) this.sender.flush()
  }

  /** Sends nothing more until `flush()`; another tab may. */
  pause() {
    this.#isPaused = true
    this.sender.pause()
    this.#tabs.leave()
  }

  /** Discards everything of the owner: stored or in any tab, or after a logout in another, here. */
  async clear(owner: string | undefined, { isElsewhere }: { isElsewhere: boolean }) {
    this.#isClosed = true
    this.pause()
    this.#journal.owner ??= owner
    const discardAll = () => [...this.#entries.keys()].map((key) => this.withdraw(key))
    this.#join()
    discardAll()
    if (!isElsewhere) await this.#journal.clear()
    discardAll()
    await this.#journal.settled()
    this.#forget()
  }

  #forget() {
    for (const { op } of this.#entries.values()) this.options.onChanged(op.channelId)
    this.#entries.clear()
    this.#tabs.leave()
    this.#journal.owner = undefined
    this.#isLoaded = false
  }

  #join() {
    const { sharedAs } = this.options.storage
    this.#tabs.join(sharedAs && `${sharedAs} ${this.#journal.owner}`)
  }

  #enqueue(entry: OutboxEntry) {
    const { op } = entry
    const { sharedAs } = this.options.storage
    const isShared = sharedAs !== undefined && this.#journal.owner !== undefined
    // Another tab may send it before this one does.
    entry.wasTried = isShared && !this.#tabs.isSender
    this.#entries.set(op.clientId, entry)
    this.#update(entry, op)
    if (this.#tabs.isSender) this.sender.run(op)
  }

  readonly #update = (entry: OutboxEntry, op: OutboxOperation) => {
    entry.op = op
    this.#journal.put(op)
    this.options.onStep({ kind: 'queued', op })
    this.options.onChanged(op.channelId)
  }

  #replace(entry: OutboxEntry, by: OutboxEntry) {
    by.completion.promise.then(entry.completion.resolve, entry.completion.reject)
    this.options.onStep({ kind: 'done', op: entry.op, result: undefined })
    this.#remove(entry, { kind: 'replaced', by: by.op.clientId })
  }

  #handleDone(entry: OutboxEntry, result: unknown) {
    const { op } = entry
    if (isSend(op)) this.#handleSent(entry, result as Message) // the answer of a send
    if (op.type === 'edit')
      rebase(this.#entries.values(), op, { result: result as Message, update: this.#update })
    this.options.onStep({ kind: 'done', op, result })
    this.#remove(entry, { result })
    entry.completion.resolve(result)
  }

  /** Operations that name the message by its `clientId` have its id from now on. */
  #handleSent(entry: OutboxEntry, message: Message) {
    const { clientId, channelId } = entry.op
    entry.message = message
    for (const each of this.entriesOf(channelId)) {
      for (const [name] of referencesTo(clientId, each.op))
        this.#update(each, { ...each.op, [name]: message.id })
    }
    this.options.onSent(message)
  }

  #fail(entry: OutboxEntry, error: ChatError) {
    const { op } = entry
    if (!this.#entries.has(op.clientId)) return
    entry.completion.reject(error)
    if (!isOutgoing(entry)) {
      this.options.onStep({ kind: 'refused', op, error })
      return this.#remove(entry, { error: toStored(error) })
    }
    entry.error = error
    this.#update(entry, { ...op, failure: toStored(error) } as Outgoing) // it is a send
    const changesIt = (each: OutboxEntry) => targetFailed(each, this.#entries) === entry
    for (const each of this.entriesOf(op.channelId).filter(changesIt)) {
      if (each.op.type === 'delete') {
        this.withdraw(op.clientId)
        this.#handleDone(each, { success: true })
      } else this.#fail(each, error)
    }
  }

  #remove({ op: { clientId, channelId } }: OutboxEntry, outcome: Outcome) {
    this.#entries.delete(clientId)
    this.#journal.delete(clientId)
    this.#tabs.post({ kind: 'removed', ...outcome, clientId })
    this.options.onChanged(channelId)
  }
}
