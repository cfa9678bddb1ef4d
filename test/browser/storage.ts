import type { Page } from 'playwright-core'

/** The keys of the snapshots that a page has stored: `list`, and `room` with the id of a channel. */
export const storedSnapshots = async (page: Page) =>
  (await storedRows(page, 'parley-snapshots')).map(({ key = '' }) => key)

/**
 * The texts of the messages that wait in a page's outbox. A message is shown a moment before it is
 * stored: until then it does not survive a reload.
 */
export const storedTexts = async (page: Page, database = 'parley-outbox') =>
  (await storedRows(page, database)).flatMap(({ text }) => text ?? [])

type Row = { key?: string; text?: string }

/** The rows in a database of the client. */
const storedRows = (page: Page, database: string) =>
  page.evaluate(
    (name) =>
      new Promise<Row[]>((resolve, reject) => {
        const opening = indexedDB.open(name)
        opening.onerror = () => reject(opening.error)
        opening.onsuccess = () => {
          const rows = opening.result.transaction('messages').objectStore('messages').getAll()
          rows.onsuccess = () => {
            opening.result.close()
            resolve(rows.result as Row[]) // as the client stores them
          }
        }
      }),
    database,
  )
