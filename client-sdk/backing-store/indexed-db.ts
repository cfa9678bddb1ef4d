import { browser, type IdbDatabase, type IdbObjectStore } from '../shared/platform.ts'

/** Work on the only object store of a database, `messages`, in a transaction of its own. */
type Run = <T>(
  mode: 'readonly' | 'readwrite',
  work: (rows: IdbObjectStore) => { result: T },
) => Promise<T>

/** Some browsers in private mode never answer. */
const OPENS_WITHIN_MS = 5_000

/**
 * Opens a database at its first use, and again after the browser has closed it, as Safari does in
 * the background. Each use rejects while it cannot be opened.
 */
export function openDatabase(name: string, create: (database: IdbDatabase) => void): Run {
  let opened: Promise<IdbDatabase> | undefined
  const forget = () => {
    opened = undefined
  }
  const open = () => {
    opened ??= new Promise<IdbDatabase>((resolve, reject) => {
      const request = browser.indexedDB?.open(name, 1)
      if (!request) return reject(new Error('no IndexedDB here'))
      const timer = setTimeout(() => {
        request.onsuccess = () => {
          // Too late for this use, but the next one will work.
          request.result.close()
          forget()
        }
        reject(new Error('IndexedDB does not open'))
      }, OPENS_WITHIN_MS)
      request.onupgradeneeded = () => create(request.result)
      request.onsuccess = () => {
        clearTimeout(timer)
        request.result.onclose = forget
        resolve(request.result)
      }
      request.onerror = () => {
        clearTimeout(timer)
        forget()
        reject(request.error)
      }
    })
    return opened
  }
  const begin = async (mode: 'readonly' | 'readwrite') => {
    const opening = open()
    const database = await opening
    try {
      return database.transaction('messages', mode)
    } catch {
      // It was closed without an event.
      if (opened === opening) forget()
      return (await open()).transaction('messages', mode)
    }
  }
  return async (mode, work) => {
    const transaction = await begin(mode)
    const request = work(transaction.objectStore('messages'))
    return new Promise((resolve, reject) => {
      transaction.oncomplete = () => resolve(request.result)
      transaction.onabort = () => reject(transaction.error)
    })
  }
}
