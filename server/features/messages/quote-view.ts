import { limits } from '@parley/contract'
import type { Tx } from '../../db/client.ts'
import { constant, isoTime } from '../../db/sql.ts'
import { SYSTEM_USER } from '../system-user.ts'
import { publicFields } from '../users/view.ts'

/** The message that message row `msg` quotes, as it is now, as JSON; null if it quotes nothing. */
export const quotedMessage = constant(
  (db) => db`
    case when msg.quoted_id is not null then (
      select ${summaryOfQuoted(db)}
      from messages quoted
      join users quoted_author
        on quoted_author.app_id = quoted.app_id
        and quoted_author.id = quoted.user_id
      where quoted.id = msg.quoted_id
        and quoted.app_id = msg.app_id
        and quoted.channel_id = msg.channel_id
    ) end`,
)

/** A quote of message row `quoted` by `quoted_author`, as JSON. */
export const summaryOfQuoted = (db: Tx) => db`
  json_build_object(
    'id', quoted.id, 'seq', quoted.seq, 'rev', quoted.rev, 'userId', quoted.user_id,
    'user', case
      when quoted.user_id = ${SYSTEM_USER.id} then ${JSON.stringify(SYSTEM_USER)}::text::json
      else json_build_object('id', quoted_author.id, ${publicFields(db, db`quoted_author`)})
    end,
    'text', left(quoted.text, ${limits.quotedTextLength}),
    'attachmentCount', jsonb_array_length(quoted.attachments),
    'attachmentType', quoted.attachments -> 0 ->> 'type',
    'deletedAt', ${isoTime(db, db`quoted.deleted_at`)}
  )`
