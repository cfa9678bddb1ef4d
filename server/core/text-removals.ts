import type { Fragment, Tx } from '../db/client.ts'
import { constant } from '../db/sql.ts'
import { isStoredWhole } from './stored-envelope.ts'

/**
 * Every query that shows stored events joins this: a deleted message's text may still be in them,
 * until the cleanup has handled its row in `text_removals`.
 */

/** Mostly there are none, and no event needs a look-up of its own. */
const areAny = constant((db) => db`(select true from text_removals limit 1)`)

/** The id of the message that event row `e` quotes. New messages in short form quote none. */
const quotedId = constant(
  (db) => db`(
    select msg.quoted_id
    from messages msg
    where msg.id = e.message_id
      and e.type in ('message.new', 'message.updated')
      and ${isStoredWhole(db)}
  )`,
)

const quotedPath = constant((db) => db`'{payload,message,quotedMessage}'`)

/** The envelope of event row `e` with `changes` of the message that it quotes. */
export const withQuote = (db: Tx, changes: Fragment) => db`
  jsonb_set(
    e.envelope::jsonb,
    ${quotedPath(db)},
    e.envelope::jsonb #> ${quotedPath(db)} || ${changes}
  )::text`

/**
 * To event row `e`, its `type` and `envelope` as they will be without the text of a deleted
 * message; all null if there is none to remove.
 */
export const joinRemoval = constant(
  (db) => db`
    left join lateral (
      select
        case when own.is_own then 'message.deleted' else e.type end as type,
        case when own.is_own then tr.tombstone else ${withQuote(db, db`tr.quote`)} end as envelope
      from text_removals tr
      cross join lateral (
        select e.message_id is not distinct from tr.message_id as is_own
      ) own
      where ${areAny(db)}
        and tr.message_id in (e.message_id, ${quotedId(db)})
        and tr.topic is not distinct from e.topic -- which no index serves: by the key
        and tr.rev > e."offset"
      order by own.is_own desc
      limit 1
    ) removal on true`,
)
/** The type of event row `e` as readers are shown it, in a query with `joinRemoval`. */
export const shownType = constant((db) => db`coalesce(removal.type, e.type)`)
export const shownEnvelope = constant((db) => db`coalesce(removal.envelope, e.envelope)`)
export const isTextToRemove = constant((db) => db`removal.type is not null`)
