/** The differences between platforms: only this file uses globals that may be missing. */

// Browser APIs that other platforms may lack, declared as far as the client uses them.
type IdbRequest<T> = {
  result: T
  error: unknown
  onsuccess: (() => void) | null
  onerror: (() => void) | null
}
export type IdbObjectStore = {
  put: (value: object) => IdbRequest<unknown>
  get: (key: string[]) => IdbRequest<object | undefined>
  delete: (key: string[]) => IdbRequest<unknown>
  index: (name: string) => { getAll: (key: string) => IdbRequest<object[]> }
  createIndex: (name: string, path: string) => unknown
}
type IdbTransaction = {
  objectStore: (name: string) => IdbObjectStore
  oncomplete: (() => void) | null
  onabort: (() => void) | null
  error: unknown
}
export type IdbDatabase = {
  createObjectStore: (name: string, options: { keyPath: string[] }) => IdbObjectStore
  transaction: (name: string, mode: 'readonly' | 'readwrite') => IdbTransaction
  onclose: (() => void) | null
  close: () => void
}
type Listener = (event: { type: string }) => void
type EventTarget = {
  addEventListener: (type: string, listener: Listener) => void
  removeEventListener: (type: string, listener: Listener) => void
}
type Browser = Partial<EventTarget> & {
  indexedDB?: {
    open: (
      name: string,
      version: number,
    ) => IdbRequest<IdbDatabase> & { onupgradeneeded: (() => void) | null }
  }
  document?: EventTarget & { visibilityState: string }
  location?: { origin: string }
  navigator?: {
    onLine?: boolean
    locks?: {
      request: (
        name: string,
        options: { signal: AbortSignal } | { steal: true },
        hold: () => Promise<void>,
      ) => Promise<void>
    }
  }
  BroadcastChannel?: new (
    name: string,
  ) => {
    onmessage: ((event: { data: unknown }) => void) | null
    postMessage: (message: object) => void
    close: () => void
    /** In Node.js, where a channel keeps the process alive. */
    unref?: () => void
  }
}
export const browser = globalThis as unknown as Browser // each field may be absent

/** Whether the device says that it has no network. Where it says nothing it may have one. */
export const isDeviceOffline = () => browser.navigator?.onLine === false

/** Advice if nothing answers: browsers do not say whether the server refused their page. */
export function whatToCheck(hasWorked = false) {
  const { origin } = browser.location ?? {}
  if (isDeviceOffline()) return '; the device is offline'
  return origin && !hasWorked ? `; is it running, with ${origin} in its ALLOWED_ORIGINS?` : ''
}

export const isVisible = () => browser.document?.visibilityState === 'visible'

/** Calls the listener when the page becomes visible and when the network returns. */
export const onWake = (listener: Listener) => [
  listen(browser.document, 'visibilitychange', (event) => {
    if (isVisible()) listener(event)
  }),
  listen(browser, 'online', listener),
]

/**
 * Calls the listener when the network is lost, and before the page is frozen. Safari may keep it
 * then with the locks that it holds. Returns what ends it.
 */
export const onSleep = (listener: Listener) =>
  ['offline', 'pagehide'].map((type) => listen(browser, type, listener))

/** Returns what ends it. */
function listen(target: Partial<EventTarget> | undefined, type: string, listener: Listener) {
  target?.addEventListener?.(type, listener)
  return () => target?.removeEventListener?.(type, listener)
}

/**
 * An id that no other message has. Pages that are not served securely have no
 * `crypto.randomUUID`, and React Native may have no `crypto` at all.
 */
export function newId(): string {
  const { crypto } = globalThis as { crypto?: Partial<typeof globalThis.crypto> } // may lack it
  const digit = () => Math.floor(Math.random() * 16).toString(16)
  return crypto?.randomUUID?.() ?? Array.from({ length: 32 }, digit).join('')
}
