import { appIdIn } from '../../core/topic-names.ts'
import type { Db, Fragment, Tx } from '../../db/client.ts'
import { createBatchSize } from '../batch-size.ts'

/** The most events that one statement looks at; for each it makes up to 20 deliveries. */
const PAGE = 5_000

/** A position in the log of all topics. Times are text: they are exact to the microsecond. */
type LogPosition = { at: string; topic: string; offset: number }
/** The position after which a page begins, and how many events it may have. */
export type PageStart = LogPosition & { most: number }
export type PageRow = LogPosition & { count: number }

/** The position before all events of a time. */
export const startOf = (at: string): LogPosition => ({ at, topic: '', offset: 0 })

/**
 * Runs a statement for each page of the log, until the last or until it says that it must end. A
 * statement that the database cancels for taking too long is repeated with a smaller page.
 */
export async function eachPage(
  db: Pick<Db, 'use'>,
  first: LogPosition,
  run: (db: Tx, from: PageStart) => PromiseLike<PageRow[]>,
  mayContinue: (next: LogPosition) => boolean | Promise<boolean> = () => true,
) {
  const size = createBatchSize(PAGE)
  let position = first
  for (;;) {
    const from = position
    const { last, most } = await size.run(async (most) => {
      const [last] = await db.use(async (db) => await run(db, { ...from, most }))
      return { last, most }
    })
    if (!last || last.count < most) return true
    position = last
    if (!(await mayContinue(position))) return false
  }
}

/** The next events of all apps, in the order of their times. */
export const eventsAfter = (db: Tx, { at, topic, offset, most }: PageStart): Fragment => db`
  select e.topic, e."offset", e.type, e.created_at
  from events e
  where e.created_at >= ${at}::timestamptz
    and (e.created_at, e.topic, e."offset") > (${at}::timestamptz, ${topic}, ${offset}::int)
  order by e.created_at, e.topic, e."offset"
  limit ${most}`

/** The app of the event in row `page`. */
export const appOf = (db: Tx): Fragment => appIdIn(db, db`page.topic`)

/** Whether webhook `wh` asks for the event in row `page`. */
export const wants = (db: Tx): Fragment => db`
  wh.events && array['*', split_part(page.type, '.', 1) || '.*', page.type]`

/** Where `page` ended, and how many events it had. */
export const endOf = (db: Tx): Fragment => db`
  select
    page.created_at::text as at, page.topic, page."offset",
    (select count(*)::int from page) as count
  from page
  order by page.created_at desc, page.topic desc, page."offset" desc
  limit 1`
