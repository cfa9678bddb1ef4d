import { runInTransaction } from '../core/context.ts'
import { isTextToRemove, joinRemoval, shownEnvelope, shownType } from '../core/text-removals.ts'
import { channelIdIn } from '../core/topic-names.ts'
import type { Fragment, Tx } from '../db/client.ts'
import { constant } from '../db/sql.ts'
import { deleteOwned, reactionsOfOne } from './delete-in-steps.ts'
import type { ErasureContext } from './erasure-context.ts'

type RemovalContext = Pick<ErasureContext, 'db' | 'publisher' | 'checkpoint' | 'batch'>

/** How many topics are looked up at once. */
const FOUND = 100

/**
 * Removes the reactions of deleted messages, and takes their texts out of stored events, where a
 * deletion left that for later. The next pass continues with the topic after the last one, and then
 * begins again: a long one delays no other for good, and waits for none.
 */
export function createTextRemoval() {
  let last = ''
  const removeRest = async (context: RemovalContext & Pick<ErasureContext, 'attempt'>) => {
    for (;;) {
      const waiting = await context.db.use((db) => selectTopics(db, db`tr.topic > ${last}`))
      if (waiting.length === 0) break
      for (const next of waiting) {
        last = next.topic
        await context.attempt(() => removeFromTopic(context, next))
      }
    }
    last = ''
  }
  return async (context: Parameters<typeof removeRest>[0]) => {
    const isAtStart = last === ''
    await removeRest(context)
    if (!isAtStart) await removeRest(context)
  }
}

/** Takes the texts of one app's deleted messages out of its events, before its users are erased. */
export const removeTextsOf = (context: RemovalContext, appId: string) =>
  removeWhere(context, (db) => db`tr.app_id = ${appId}`)

/** The same for a channel, before its messages are purged, which say what events quote. */
export const removeTextsIn = (context: RemovalContext, topic: string) =>
  removeWhere(context, (db) => db`tr.topic = ${topic}`)

async function removeWhere(context: RemovalContext, condition: (db: Tx) => Fragment) {
  const found = await context.db.use((db) => selectTopics(db, condition(db)))
  for (const each of found) await removeFromTopic(context, each)
}

type WaitingTopic = { topic: string; appId: string }

const selectTopics = (db: Tx, condition: Fragment) => db<WaitingTopic[]>`
  select distinct tr.topic, tr.app_id
  from text_removals tr
  where ${condition}
  order by tr.topic
  limit ${FOUND}`

/** In short transactions, each of which continues where the last one ended, in any process. */
async function removeFromTopic(context: RemovalContext, { topic, appId }: WaitingTopic) {
  const { db, publisher, batch, checkpoint } = context
  const step = () => {
    checkpoint()
    return batch.run((limit) =>
      db.use((connection, signal) =>
        runInTransaction(connection, { appId, signal, publisher }, async ({ db }) => {
          // Otherwise another deletion could write the same events in another order.
          await db`
            select id
            from channels
            where id = ${channelIdIn(db, db`${topic}`)}::uuid
            for no key update`
          return removeFromSlice(db, topic, limit)
        }),
      ),
    )
  }
  do await removeReactions(context, topic)
  while ((await step()) > 0)
}

/** Nobody adds to them any more, so the channel is not locked. */
async function removeReactions(context: RemovalContext, topic: string) {
  const found = await context.db.use(
    (db) => db<{ id: string }[]>`
      select tr.message_id as id
      from text_removals tr
      where tr.topic = ${topic}
        and ${hasReactions(db)}`,
  )
  for (const { id } of found)
    await deleteOwned(context, reactionsOfOne, { column: 'message_id', id })
}

/** The order makes PostgreSQL use the key of reactions, the only index with that order. */
const hasReactions = constant(
  (db) => db`(
    select true
    from reactions r
    where r.message_id = tr.message_id
    order by r.emoji, r.user_id
    limit 1
  ) is not null`,
)

/**
 * Looks at the next events of the topic, for all of its removals that have come so far. Returns how
 * many removals are left.
 */
async function removeFromSlice(db: Tx, topic: string, limit: number) {
  const [left] = await db<{ count: number }[]>`
    with walk as materialized (
      select min(tr.after) as after, max(tr.rev) as rev
      from text_removals tr
      where tr.topic = ${topic}
    ),
    slice as materialized (
      select e.*
      from walk
      cross join lateral (
        select
          e."offset", ${shownType(db)} as type, ${shownEnvelope(db)} as envelope,
          ${isTextToRemove(db)} as is_due
        from (
          select *
          from events e
          where e.topic = ${topic}
            and e."offset" > walk.after
            and e."offset" < walk.rev
          order by e."offset"
          limit ${limit}
        ) e
        ${joinRemoval(db)}
      ) e
    ),
    rewritten as (
      update events e
      set type = slice.type, envelope = slice.envelope
      from slice
      where e.topic = ${topic}
        and e."offset" = any(array(
          select "offset"
          from slice
          where is_due
        ))
        and e."offset" = slice."offset"
    ),
    reached as materialized (
      select
        case
          when count(slice."offset") < ${limit} then walk.rev
          else max(slice."offset")
        end as "to"
      from walk
      left join slice on true
      group by walk.rev
    ),
    done as (
      delete from text_removals tr
      using reached
      where tr.topic = ${topic}
        and tr.after <= reached."to"
        and tr.rev <= reached."to" + 1
        and not ${hasReactions(db)}
      returning tr.message_id
    ),
    passed as (
      update text_removals tr
      set after = reached."to"
      from reached
      where tr.topic = ${topic}
        and tr.after <= reached."to"
        and tr.rev > reached."to" + 1
    )
    select count(*)::int as count
    from text_removals tr
    where tr.topic = ${topic}
      and tr.message_id not in (select message_id from done)`
  return left?.count ?? 0
}
