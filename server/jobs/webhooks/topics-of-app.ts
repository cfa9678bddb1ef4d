import type { Db } from '../../db/client.ts'

/** The kinds of topics, in the order in which those of an app are walked through. */
const KINDS = ['chat', 'user']

/**
 * The next topics of an app that have events, after one of them; `after` is '' at the beginning.
 * Each is found by a look into the primary key of `events`, so no other app's events are read,
 * however many there are.
 */
export async function nextTopics(
  db: Pick<Db, 'use'>,
  { appId, after, most }: { appId: string; after: string; most: number },
) {
  for (const kind of KINDS) {
    const first = `${kind}:${appId}:`
    if (after !== '' && KINDS.indexOf(kind) < KINDS.indexOf(after.split(':', 1)[0] ?? '')) continue
    const from = after.startsWith(first) ? after : first
    // The first topic of another app ends the walk. The collation decides where that is.
    const rows = await db.use(
      (db) => db<{ topic: string }[]>`
        with recursive found as (
          (
            select e.topic, 1 as number
            from events e
            where e.topic > ${from}
            order by e.topic
            limit 1
          )
          union all
          select next.topic, found.number + 1
          from found
          cross join lateral (
            select e.topic
            from events e
            where e.topic > found.topic
            order by e.topic
            limit 1
          ) next
          where found.number < ${most}
            and starts_with(found.topic, ${first})
        )
        select found.topic
        from found
        where starts_with(found.topic, ${first})`,
    )
    if (rows.length > 0) return rows.map(({ topic }) => topic)
  }
  return []
}
