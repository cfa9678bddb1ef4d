import type { OutboxOperation } from '../backing-store/storage.ts'
import { browser, isVisible } from '../shared/platform.ts'
import type { StoredError } from './entry.ts'

/** Messages between tabs: a change of the outbox that they share, or the user's logout. */
type TabMessage = TabChange | { kind: 'ended' }
export type TabChange =
  | { kind: 'put'; operation: OutboxOperation }
  /** The operation is done, refused or discarded. */
  | { kind: 'removed'; clientId: string; result?: unknown; error?: StoredError | undefined }
  /** Another operation replaces it, and has its result. */
  | { kind: 'replaced'; clientId: string; by: string }
/** The outcome of an operation that left the queue, as it is posted to other tabs. */
export type Outcome =
  | { result: unknown }
  | { error: StoredError }
  | { kind: 'replaced'; by: string }

type TabsOptions = {
  onChanged: (change: TabChange) => void
  /** The user has logged out in another tab. */
  onEnded: () => void
  /** From now on this tab sends, or another one. */
  onElected: (isSender: boolean) => void
}

/**
 * The tabs that share an outbox. One of them sends: the one that was looked at last, or another
 * one once that is closed. Each shows what the others do. A storage that is not shared has one
 * tab, and so have browsers without locks: there each tab sends, and the server sees repeats.
 */
export class Tabs {
  isSender = false
  /** Whether stored operations must be read again. */
  hasLeft = false
  #channel: InstanceType<NonNullable<typeof browser.BroadcastChannel>> | undefined
  #release: (() => void) | undefined
  #name: string | undefined

  constructor(readonly options: TabsOptions) {}

  /** Joins the tabs with the same outbox; without a name there are none. */
  join(name: string | undefined) {
    const isJoined = this.#channel && name === this.#name
    this.#name = name
    if (name === undefined || isJoined) return
    this.#channel?.close()
    this.#channel = openChannel(name)
    if (!this.#channel) return
    this.#channel.onmessage = ({ data }) => {
      const message = data as TabMessage // of `post`
      if (message.kind === 'ended') this.options.onEnded()
      else this.options.onChanged(message)
    }
    this.#channel.unref?.()
  }

  /** Another tab may send. */
  leave() {
    this.hasLeft = true
    this.isSender = false
    this.#release?.()
    this.#release = undefined
    this.#channel?.close()
    this.#channel = undefined
  }

  post(message: TabMessage) {
    this.#channel?.postMessage(message)
  }

  /** Asks to be the tab that sends. A hidden one may be suspended with its lock. */
  apply() {
    this.hasLeft = false
    if (this.isSender && !isVisible()) return this.#elect()
    this.#release?.()
    this.#request(isVisible())
  }

  #request(isStealing: boolean) {
    const locks = browser.navigator?.locks
    if (!locks || this.#name === undefined) return this.#elect()
    const abort = new AbortController()
    const { signal } = abort
    this.#release = () => abort.abort()
    const hold = () =>
      new Promise<void>((resolve) => {
        signal.addEventListener('abort', () => resolve())
        if (signal.aborted) resolve()
        else this.#elect()
      })
    // Rejects once it is aborted or stolen. A page that may not use locks sends without one.
    locks.request(this.#name, isStealing ? { steal: true } : { signal }, hold).catch(() => {
      if (signal.aborted) return
      if (!this.isSender) return this.#elect()
      this.#elect(false)
      this.#request(false)
    })
  }

  #elect(isSender = true) {
    this.isSender = isSender
    this.options.onElected(isSender)
  }
}

/** Browsers that keep nothing of a site may refuse it. */
function openChannel(name: string) {
  try {
    return browser.BroadcastChannel && new browser.BroadcastChannel(name)
  } catch {
    return undefined
  }
}
