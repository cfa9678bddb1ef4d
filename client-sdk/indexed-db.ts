import { browser, type IdbDatabase, type IdbObjectStore } from './platform.ts'

/** Work on the only object store of a database, `messages`, in a transaction of its own. */
type Run = <T>(
  mode: 'readonly' | 'readwrite',
  work: (rows: IdbObjectStore) => { result: T },
) => Promise<T>

/** Some browsers in private mode never answer. */
const OPENS_WITHIN_MS = 5_000

/** Opens a database at its first use. Each use rejects while it cannot be opened. */
export function openDatabase(name: string, create: (database: IdbDatabase) => void): Run {
  let opened: Promise<IdbDatabase> | undefined
  const open = () => {
    opened ??= new Promise<IdbDatabase>((resolve, reject) => {
      const request = browser.indexedDB?.open(name, 1)
      if (!request) return reject(new Error('IndexedDB is not available here'))
      const timer = setTimeout(() => reject(new Error('IndexedDB does not open')), OPENS_WITHIN_MS)
      request.onupgradeneeded = () => create(request.result)
      request.onsuccess = () => {
        clearTimeout(timer)
        resolve(request.result)
      }
      request.onerror = () => {
        clearTimeout(timer)
        reject(request.error)
      }
    })
    return opened
  }
  return async (mode, work) => {
    const transaction = (await open()).transaction('messages', mode)
    const request = work(transaction.objectStore('messages'))
    return new Promise((resolve, reject) => {
      transaction.oncomplete = () => resolve(request.result)
      transaction.onabort = () => reject(transaction.error)
    })
  }
}
