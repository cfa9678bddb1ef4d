/** What browsers have and other places may not: declared here, as far as it is used. */
type Request<T> = {
  result: T
  error: unknown
  onsuccess: (() => void) | null
  onerror: (() => void) | null
}
export type Kept = {
  put: (value: object) => Request<unknown>
  delete: (key: string[]) => Request<unknown>
  index: (name: string) => { getAll: (key: string) => Request<object[]> }
  createIndex: (name: string, path: string) => unknown
}
type Transaction = {
  objectStore: (name: string) => Kept
  oncomplete: (() => void) | null
  onabort: (() => void) | null
  error: unknown
}
export type Database = {
  createObjectStore: (name: string, options: { keyPath: string[] }) => Kept
  transaction: (name: string, mode: 'readonly' | 'readwrite') => Transaction
}
type Browser = {
  indexedDB?: {
    open: (
      name: string,
      version: number,
    ) => Request<Database> & { onupgradeneeded: (() => void) | null }
  }
  document?: {
    visibilityState: string
    addEventListener: (type: string, listener: () => void) => void
    removeEventListener: (type: string, listener: () => void) => void
  }
  addEventListener?: (type: string, listener: () => void) => void
  removeEventListener?: (type: string, listener: () => void) => void
}
export const browser = globalThis as unknown as Browser // each field may be absent

/** Calls back when the page is shown again and when the network is back; returns the unsubscribe. */
export function onWake(listener: () => void): () => void {
  const { document } = browser
  const onVisible = () => document?.visibilityState === 'visible' && listener()
  document?.addEventListener('visibilitychange', onVisible)
  browser.addEventListener?.('online', listener)
  return () => {
    document?.removeEventListener('visibilitychange', onVisible)
    browser.removeEventListener?.('online', listener)
  }
}
