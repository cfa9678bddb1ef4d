import type { contract, Input, QuotedMessage } from '@parley/contract'
import type { Tx } from '../../db/client.ts'
import { summaryOfQuoted } from './quote-view.ts'

type Quoting = {
  input: Pick<Input<typeof contract.messages.send>, 'channelId' | 'quotedMessageId'>
}
/** A message that others may quote, and where it is. */
type Quotable = { channelId: string; quoted: QuotedMessage }

/** The messages that commands quote. Usually there are none, and no query is sent. */
export function selectQuotable(db: Tx, appId: string, commands: Quoting[]) {
  const ids = commands.flatMap(({ input }) => input.quotedMessageId ?? [])
  if (ids.length === 0) return []
  return db<Quotable[]>`
    select quoted.channel_id, ${summaryOfQuoted(db)} as quoted
    from messages quoted
    join users quoted_author
      on quoted_author.app_id = quoted.app_id
      and quoted_author.id = quoted.user_id
    where quoted.id = any(${ids}::uuid[])
      and quoted.app_id is not distinct from ${appId}
      and quoted.deleted_at is null`
}

/** Finds what a command quotes; null if its channel has no such message. */
export function findQuoted(quotable: readonly Quotable[]) {
  const byId = new Map(quotable.map((each) => [each.quoted.id, each]))
  return ({ input: { channelId, quotedMessageId } }: Quoting) => {
    const found = byId.get(quotedMessageId ?? '')
    return found?.channelId === channelId ? found.quoted : null
  }
}
