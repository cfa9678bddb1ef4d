import type { LinkPreview } from '@parley/contract'
import { runInTransaction } from '../../core/context.ts'
import type { EventPublisher } from '../../core/event-bus.ts'
import type { Metrics } from '../../core/metrics.ts'
import type { Db } from '../../db/client.ts'
import { linksIn } from '../../features/messages/links.ts'
import { attachPreviews } from '../../features/messages/previews.ts'
import { type Handlers, OverShareError } from '../tasks.ts'
import { cacheResults, selectCached } from './cache.ts'
import { BusyError, createUserShare } from './fair-share.ts'
import type { FetchFor } from './fetch.ts'
import { findPreview, type PreviewResult } from './find-preview.ts'

/** For how many messages of a user previews are made at once, of the ten of a process. */
const MOST_PER_USER = 3
/** How long a message waits at least if its author, or a host of its links, is busy. */
const BUSY_SECONDS = 1

type PreviewsOptions = { db: Db; metrics: Metrics; fetchFor: FetchFor; publisher: EventPublisher }
type LinkingMessage = { channelId: string; userId: string; text: string }
/** The previews found so far, and why the rest has to wait. */
type FoundPreviews = { previews: LinkPreview[]; busy: BusyError | undefined }

/**
 * Adds previews to messages. It reads the links when the job runs, so a message edited since it was
 * sent gets previews of its new links.
 */
export function createPreviews({
  db,
  metrics,
  fetchFor,
  publisher,
}: PreviewsOptions): Pick<Handlers, 'preview'> {
  const withinShare = createUserShare(MOST_PER_USER)
  const preview: Handlers['preview'] = async ([job], { signal }) => {
    const { appId, messageId } = job
    const [message] = await db.use(
      (db) => db<LinkingMessage[]>`
        select msg.channel_id, msg.user_id, msg.text
        from messages msg
        where msg.app_id = ${appId}
          and msg.id = ${messageId}`,
    )
    const links = message ? linksIn(message.text) : []
    if (!message || links.length === 0) return
    const find = () => findPreviews(links, { appId, signal })
    const { previews, busy } = await withinShare(`${appId}:${message.userId}`, find).catch(ifBusy)
    if (previews.length > 0) {
      await db.use((db, signal) =>
        runInTransaction(db, { appId, signal, publisher }, (ctx) =>
          attachPreviews(ctx, { appId, channelId: message.channelId, messageId, previews }),
        ),
      )
    }
    if (busy) throw new OverShareError('preview', [job], BUSY_SECONDS, busy)
  }

  /**
   * From the cache, or else from the network. All links are fetched at once, so that the message
   * changes once.
   */
  const findPreviews = async (
    links: string[],
    { appId, signal }: { appId: string; signal: AbortSignal },
  ): Promise<FoundPreviews> => {
    const cached = await selectCached(db, appId, links)
    const missing = links.filter((link) => !cached.has(link))
    const outcomes = await Promise.all(
      missing.map((link) =>
        findPreview(link, { fetch: fetchFor(appId), signal }).catch(
          (error: unknown) => ifBusy(error).busy,
        ),
      ),
    )
    const results = outcomes.filter(isResult)
    metrics.previews.inc({ outcome: 'cached' }, cached.size)
    for (const { preview } of results)
      metrics.previews.inc({ outcome: preview ? 'found' : 'missed' })
    if (results.length > 0) await cacheResults(db, appId, results)
    const all = [...cached.values(), ...results.map(({ preview }) => preview)]
    return {
      previews: all.filter((preview) => preview !== null),
      busy: outcomes.find((outcome) => outcome instanceof BusyError),
    }
  }

  return { preview }
}

const isResult = (outcome: PreviewResult | BusyError): outcome is PreviewResult =>
  !(outcome instanceof BusyError)

/** Busy is no failure: the job is put off. */
function ifBusy(error: unknown) {
  if (!(error instanceof BusyError)) throw error
  return { previews: [], busy: error }
}
