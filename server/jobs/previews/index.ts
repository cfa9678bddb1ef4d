import type { LinkPreview } from '@parley/contract'
import { runInTransaction } from '../../core/context.ts'
import type { EventPublisher } from '../../core/event-bus.ts'
import { sha256 } from '../../core/hash.ts'
import type { Metrics } from '../../core/metrics.ts'
import type { Db } from '../../db/client.ts'
import { linksIn } from '../../features/messages/links.ts'
import { attachPreviews } from '../../features/messages/previews.ts'
import type { Handlers } from '../tasks.ts'
import type { Fetch } from './fetch.ts'
import { type Finding, look } from './look.ts'

const KEPT_SECONDS = 24 * 60 * 60
/** Where nothing was found, the next message may find something soon. */
const MISSED_SECONDS = 60

type Tools = { db: Db; metrics: Metrics; fetch: Fetch; publisher: EventPublisher }

/** Makes the previews of messages: of the links that a message has when its turn comes, whatever it had when it was sent. */
export function createPreviews({
  db,
  metrics,
  fetch,
  publisher,
}: Tools): Pick<Handlers, 'preview'> {
  const preview: Handlers['preview'] = async ([job], { signal }) => {
    const { appId, messageId } = job
    const [message] = await db.use(
      (db) => db<{ channelId: string; text: string }[]>`
      select channel_id, text from messages where app_id = ${appId} and id = ${messageId} and deleted_at is null`,
    )
    const links = message ? linksIn(message.text) : []
    if (!message || links.length === 0) return
    const previews = await find(links, { appId, signal })
    if (previews.length === 0) return
    await db.use((db, signal) =>
      runInTransaction(db, { appId, signal, publisher }, (change) =>
        attachPreviews(change, { appId, channelId: message.channelId, messageId, previews }),
      ),
    )
  }

  /** From the cache, else from the network; all at once, so that the message changes once. */
  const find = async (
    links: string[],
    { appId, signal }: { appId: string; signal: AbortSignal },
  ) => {
    const hashes = new Map(links.map((link) => [link, sha256(link)]))
    const cached = await db.use(
      (db) => db<{ urlHash: string; preview: LinkPreview | null }[]>`
      select url_hash, preview from link_previews where app_id = ${appId} and url_hash = any(${[...hashes.values()]}) and expires_at > now()`,
    )
    const known = new Map(cached.map(({ urlHash, preview }) => [urlHash, preview]))
    const fresh = await Promise.all(
      links
        .filter((link) => !known.has(hashes.get(link) ?? ''))
        .map((link) => look(link, { fetch, signal })),
    )
    metrics.previews.inc({ outcome: 'cached' }, known.size)
    for (const { preview } of fresh) metrics.previews.inc({ outcome: preview ? 'found' : 'missed' })
    if (fresh.length > 0) await remember(appId, fresh)
    const found = [...known.values(), ...fresh.map(({ preview }) => preview)]
    return found.filter((preview) => preview !== null)
  }

  const remember = (appId: string, findings: Finding[]) =>
    db.use(
      (db) => db`
      insert into link_previews as p (app_id, url_hash, preview, expires_at)
      select ${appId}, hash, preview::jsonb, now() + make_interval(secs => seconds)
      from unnest(
        ${findings.map(({ url }) => sha256(url))}::text[], ${findings.map(({ preview }) => preview && JSON.stringify(preview))}::text[],
        ${findings.map(({ preview, isComplete }) => (preview && isComplete ? KEPT_SECONDS : MISSED_SECONDS))}::int[]
      ) as f (hash, preview, seconds)
      on conflict (app_id, url_hash) do update set preview = excluded.preview, expires_at = excluded.expires_at`,
    )

  return { preview }
}
