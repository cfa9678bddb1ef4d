import type { LinkPreview } from '@parley/contract'
import { sha256 } from '../../core/hash.ts'
import type { Db } from '../../db/client.ts'
import type { PreviewResult } from './find-preview.ts'

const CACHE_SECONDS = 24 * 60 * 60
/**
 * How long to cache a miss, or a preview made without an answer of its site: both may improve soon.
 */
const INCOMPLETE_CACHE_SECONDS = 60

type CacheRow = { urlHash: string; preview: LinkPreview | null }

/** The cached previews of an app by link; null is a link without one. */
export async function selectCached(db: Pick<Db, 'use'>, appId: string, links: string[]) {
  const linkOf = new Map(links.map((link) => [sha256(link), link]))
  const rows = await db.use(
    (db) => db<CacheRow[]>`
      select lp.url_hash, lp.preview
      from link_previews lp
      where lp.app_id = ${appId}
        and lp.url_hash = any(${[...linkOf.keys()]})
        and lp.expires_at > now()`,
  )
  return new Map(rows.map(({ urlHash, preview }) => [linkOf.get(urlHash) ?? '', preview]))
}

/** Stores complete previews for a day, and those that may improve soon for a minute. */
export function cacheResults(db: Pick<Db, 'use'>, appId: string, results: PreviewResult[]) {
  const hashes = results.map(({ url }) => sha256(url))
  const previews = results.map(({ preview }) => preview && JSON.stringify(preview))
  const seconds = results.map(({ preview, isComplete }) =>
    preview && isComplete ? CACHE_SECONDS : INCOMPLETE_CACHE_SECONDS,
  )
  return db.use(
    (db) => db`
      insert into link_previews as lp (app_id, url_hash, preview, expires_at)
      select
      ${appId}, found.hash, found.preview::jsonb,
        now() + make_interval(secs => found.seconds)
      from unnest(${hashes}::text[], ${previews}::text[], ${seconds}::int[])
        as found (hash, preview, seconds)
      on conflict (app_id, url_hash) do update
        set preview = excluded.preview, expires_at = excluded.expires_at`,
  )
}
