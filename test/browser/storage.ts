import type { Page } from 'playwright-core'

/** The kinds of the snapshots that a page has stored. */
export const storedSnapshots = async (page: Page) =>
  (await storedKeys(page, 'parley-snapshots')).map(([, key]) => key.split(' ')[0])

/**
 * The operations that wait in a page's outbox. An operation is shown a moment before it is stored:
 * until then it does not survive a reload.
 */
export const storedOperations = async (page: Page, database = 'parley-outbox') =>
  (await storedKeys(page, database)).filter(([owner]) => owner !== 'sessions')

/** The keys in a database of the client: the owner, and what it is. */
const storedKeys = (page: Page, database: string) =>
  page.evaluate(
    (name) =>
      new Promise<[string, string][]>((resolve, reject) => {
        const opening = indexedDB.open(name)
        opening.onerror = () => reject(opening.error)
        opening.onsuccess = () => {
          const rows = opening.result.transaction('messages').objectStore('messages').getAllKeys()
          rows.onsuccess = () => {
            opening.result.close()
            resolve(rows.result as [string, string][]) // as the client defines its keys
          }
        }
      }),
    database,
  )
