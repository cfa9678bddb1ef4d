import type { Envelope } from '@parley/contract'
import { envelopeIn } from '../../core/stored-envelope.ts'
import { isOfUser } from '../../core/topic-names.ts'
import type { Tx } from '../../db/client.ts'
import { type NamedChannel, withoutPeer } from './redact.ts'

/** A step through the events of a topic. */
export type EventStep = { topic: string; afterOffset: number; limit: number }

/** The offset to go on after, or null at the end, and whether events were changed. */
export type Rewriting = { after: number | null; isRewritten: boolean }

type Rewritten = EventStep & { channel: NamedChannel; texts: string[] }
type StoredRow = { offset: number; messageId: string | null; envelope: string | null }

/** Rewrites the events of the step with one of the texts; those of a member lose the other one. */
export async function rewriteEvents(
  db: Tx,
  { topic, afterOffset, limit, channel, texts }: Rewritten,
  redact: (json: never) => unknown = (json) => json,
): Promise<Rewriting> {
  const rewrite = (json: never) =>
    isOfUser(topic) ? withoutPeer(json, channel, topic) : redact(json)
  const rows = await db<StoredRow[]>`
    select
      e."offset", e.message_id,
      case when ${mayName(db, texts)} then e.envelope end as envelope
    from events e
    where e.topic = ${topic}
      and e."offset" > ${afterOffset}
    order by e."offset"
    limit ${limit}`
  const changed = rows.flatMap(({ offset, messageId, envelope }) => {
    if (envelope === null) return []
    const whole = envelopeIn({ topic, offset, messageId, envelope })
    const json = JSON.parse(whole) as never // as one of the contract's
    const rewritten = rewrite(json) as Envelope // as `json` is
    const text = JSON.stringify(rewritten)
    return text === JSON.stringify(json) ? [] : { offset, type: rewritten.type, envelope: text }
  })
  if (changed.length > 0) {
    const offsets = changed.map(({ offset }) => offset)
    await db`
      update events e
      set envelope = given.envelope, type = given.type
      from unnest(
        ${offsets}::int[],
        ${changed.map(({ type }) => type)}::text[],
        ${changed.map(({ envelope }) => envelope)}::text[]
      ) as given ("offset", type, envelope)
      where e.topic = ${topic}
        and e."offset" = any(${offsets}::int[])
        and e."offset" = given."offset"`
  }
  const after = rows.length < limit ? null : (rows.at(-1)?.offset ?? null)
  return { after, isRewritten: changed.length > 0 }
}

/** A direct message without a name has those of both in its own event. */
export const mayName = (db: Tx, texts: string[]) => db`(
  e.type = 'channel.updated'
  or exists (
    select
    from unnest(${texts}::text[]) given (text)
    where strpos(e.envelope, given.text) > 0
  )
)`
