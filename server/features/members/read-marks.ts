import type { FirstStep } from '../../core/operation.ts'
import type { MemberRef } from '../../core/user-ref.ts'
import type { Tx } from '../../db/client.ts'

/** The most read marks that are deleted at once: a member has one for each time they read. */
const AT_ONCE = 5_000

/** Selects a row if a member has more read marks than may be deleted with them. */
export const selectManyMarks = (db: Tx, { channelId, userId }: MemberRef) => db`
  select seq
  from read_marks
  where channel_id = ${channelId}
    and user_id = ${userId}
  order by seq
  offset ${AT_ONCE}
  limit 1`

/** Deletes the read marks of a member who leaves, in steps that do not lock the channel. */
export const removeMarks =
  ({ channelId, userId }: MemberRef): FirstStep =>
  async ({ inTransaction }) => {
    let last: number | null = 0
    while (last !== null) {
      const after: number = last
      await inTransaction(async ({ db }) => {
        const [step] = await db<{ last: number | null }[]>`
          with step as materialized (
            select ctid, seq
            from read_marks
            where channel_id = ${channelId}
              and user_id = ${userId}
              and seq > ${after}
            order by seq
            limit ${AT_ONCE}
          ),
          removed as (
            delete from read_marks
            where ctid = any(array(select ctid from step))
          )
          select max(seq) as last
          from step`
        last = step?.last ?? null
      })
    }
  }
