import { browser } from '../platform.ts'
import type { OutboxOperation } from '../storage.ts'
import type { StoredError } from './entry.ts'

/** What tabs tell each other: a change of the outbox that they share, or the user's logout. */
type TabMessage = TabChange | { kind: 'ended' }
export type TabChange =
  | { kind: 'put'; operation: OutboxOperation }
  /** The operation is done, refused or discarded. */
  | { kind: 'removed'; clientId: string; result?: unknown; error?: StoredError | undefined }
  /** Another operation replaces it, and has its result. */
  | { kind: 'replaced'; clientId: string; by: string }

type TabsOptions = {
  onChange: (change: TabChange) => void
  /** The user has logged out in another tab. */
  onEnded: () => void
  /** From now on this tab sends. */
  onElected: () => void
}

/**
 * The tabs that share an outbox. One of them sends, and another one once it is closed; each shows
 * what the others do. A storage that is not shared has one tab, and so have browsers without locks:
 * there each tab sends, and the server sees repeats.
 */
export class Tabs {
  isSender = false
  /** Changes of other tabs were missed. */
  hasLeft = false
  #channel: InstanceType<NonNullable<typeof browser.BroadcastChannel>> | undefined
  #release: (() => void) | undefined
  #name: string | undefined

  constructor(readonly options: TabsOptions) {}

  /** Joins the tabs with the same outbox; without a name there are none. */
  join(name: string | undefined) {
    this.#name = name
    this.hasLeft = false
    if (name === undefined) return
    this.#channel?.close()
    this.#channel = openChannel(name)
    if (!this.#channel) return
    this.#channel.onmessage = ({ data }) => {
      const message = data as TabMessage // of `post`
      if (message.kind === 'ended') this.options.onEnded()
      else this.options.onChange(message)
    }
    this.#channel.unref?.()
  }

  /** Another tab may send. */
  leave() {
    this.hasLeft = this.#name !== undefined
    this.isSender = false
    this.#release?.()
    this.#release = undefined
    this.#channel?.close()
    this.#channel = undefined
  }

  post(message: TabMessage) {
    this.#channel?.postMessage(message)
  }

  /** Asks to be the tab that sends. */
  apply() {
    if (this.isSender || this.#release) return
    const locks = browser.navigator?.locks
    if (!locks || this.#name === undefined) return this.#elect()
    const abort = new AbortController()
    this.#release = () => abort.abort()
    const hold = () =>
      new Promise<void>((resolve) => {
        this.#release = resolve
        this.#elect()
      })
    // Rejects once it is aborted. A page that may not use locks sends without one.
    locks.request(this.#name, { signal: abort.signal }, hold).catch(() => {
      if (!abort.signal.aborted) this.#elect()
    })
  }

  #elect() {
    this.isSender = true
    this.options.onElected()
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
