import { type Envelope, limits, topics } from '@parley/contract'
import type { Db, Tx } from '../db/client.ts'
import { unread } from '../features/reads.ts'
import { keyOf, type Sessions, type User } from './sessions.ts'

type Options = {
  db: Db
  nodeId: string
  sessions: Sessions
  tell: (topic: string, envelope: string) => void
  report: (error: unknown, problem: string) => void
  pauseMs: number
}
type Count = User & { channelId: string; count: number }
/** What a user is known to have unread. `isTold`: by us; else he may or may not know. */
type Known = { user: User; since: number; counts: Map<string, { count: number; isTold: boolean }> }

/** So long after a user's counts are first read, it is uncertain which of them he knows. */
const UNCERTAIN_MS = 20_000

/**
 * Tells the connected users of this node their unread counts, absolute: one statement for all channels in which something
 * happened, the next when that has ended and a pause has passed. So a flood of messages costs no more than it must.
 */
export class UnreadLoop {
  /** Channels to look at; with the only author of what happened there, whose own badge does not move. */
  #dirty = new Map<string, string | null>()
  /** The last event of a channel that was looked at. */
  #marked = new Map<string, number>()
  readonly #known = new Map<string, Known>()
  #timer: NodeJS.Timeout | undefined
  #isRunning = false
  #endedAt = 0

  constructor(readonly options: Options) {}

  /** An event of a channel may move badges. */
  mark(channelId: string, { offset, author = null }: { offset: number; author?: string | null | undefined }) {
    if (this.options.sessions.isEmpty) return
    this.#marked.set(channelId, Math.max(offset, this.#marked.get(channelId) ?? 0))
    this.#look(channelId, author)
  }

  /** There are events of these channels that this node may not have heard of. Of all others it has now heard long ago. */
  check(recent: { channelId: string; offset: number }[]) {
    const missed = recent.filter(({ channelId, offset }) => offset > (this.#marked.get(channelId) ?? 0))
    const marked = this.#marked
    this.#marked = new Map(recent.flatMap(({ channelId }) => (marked.has(channelId) ? [[channelId, marked.get(channelId) ?? 0]] : [])))
    for (const each of missed) this.mark(each.channelId, each)
  }

  #look(channelId: string, author: string | null) {
    const isSame = !this.#dirty.has(channelId) || this.#dirty.get(channelId) === author
    this.#dirty.set(channelId, isSame ? author : null)
    this.#schedule()
  }

  /** The user has been told a count elsewhere; it is looked at again, in case it crossed with one of ours. */
  told(user: User, channelId: string, count: number) {
    if (!this.options.sessions.has(user)) return
    this.#known.get(keyOf(user))?.counts.set(channelId, { count, isTold: true })
    this.#look(channelId, null)
  }

  /** A member has left the channel; without a name: it is gone for all. */
  left(channelId: string, user?: User) {
    const concerned = user ? [this.#known.get(keyOf(user))] : this.#known.values()
    for (const known of concerned) {
      const count = known?.counts.get(channelId)?.count ?? 0
      if (known?.counts.delete(channelId) && count > 0) this.#tellTotal(known)
    }
  }

  forget(user: User) {
    this.#known.delete(keyOf(user))
  }

  stop() {
    clearTimeout(this.#timer)
    this.#isRunning = true
  }

  #schedule() {
    if (this.#timer !== undefined || this.#isRunning) return
    this.#timer = setTimeout(() => void this.#run(), Math.max(0, this.#endedAt + this.options.pauseMs - Date.now()))
  }

  async #run() {
    this.#timer = undefined
    this.#isRunning = true
    const dirty = this.#dirty
    this.#dirty = new Map()
    await this.#count(dirty).catch((error) => this.options.report(error, 'could not count unread messages'))
    this.#endedAt = Date.now()
    this.#isRunning = false
    if (this.#dirty.size > 0) this.#schedule()
  }

  async #count(dirty: Map<string, string | null>) {
    const { db, nodeId } = this.options
    const rows = await db.use((db) => selectCounts(db, { nodeId, channelIds: [...dirty.keys()] }))
    const strangers = new Map(rows.filter((row) => !this.#known.has(keyOf(row))).map(({ appId, userId }) => [keyOf({ appId, userId }), { appId, userId }]))
    if (strangers.size > 0) await this.#learn([...strangers.values()])
    const changed = new Set(rows.flatMap((row) => this.#tell(row, dirty.get(row.channelId) ?? null) ?? []))
    for (const known of changed) this.#tellTotal(known)
  }

  /** Reads all counts of users who had nothing to be told so far. */
  async #learn(users: User[]) {
    const rows = await this.options.db.use((db) => selectAllCounts(db, users))
    for (const user of users) if (this.options.sessions.has(user)) this.#known.set(keyOf(user), { user, since: Date.now(), counts: new Map() })
    for (const { channelId, count, ...user } of rows) this.#known.get(keyOf(user))?.counts.set(channelId, { count, isTold: false })
  }

  /** Answers with whom it has told something. */
  #tell({ channelId, count, ...user }: Count, author: string | null) {
    const known = this.#known.get(keyOf(user))
    if (!known) return undefined
    const last = known.counts.get(channelId)
    const isUncertain = !last?.isTold && author !== user.userId && Date.now() - known.since < UNCERTAIN_MS
    if (last?.count === count && !isUncertain) return undefined
    known.counts.set(channelId, { count, isTold: true })
    this.#send(user, { type: 'channel.unread_changed', payload: { channelId, count } })
    return known
  }

  #tellTotal({ user, counts }: Known) {
    const count = [...counts.values()].reduce((sum, one) => sum + one.count, 0)
    this.#send(user, { type: 'channel.total_unread_changed', payload: { count } })
  }

  #send({ appId, userId }: User, envelope: Envelope) {
    this.options.tell(topics.user(appId, userId), JSON.stringify(envelope))
  }
}

/** The members connected to this node of these channels, with their counts. In crowds nobody is told. */
const selectCounts = (db: Tx, { nodeId, channelIds }: { nodeId: string; channelIds: string[] }) => db<Count[]>`
  select m.app_id, m.user_id, m.channel_id, ${unread(db)} as count
  from channels c
  join members m on m.channel_id = c.id
  join connections k on k.node_id = ${nodeId} and k.app_id = m.app_id and k.user_id = m.user_id
  where c.id = any(${channelIds}::uuid[]) and c.deleted_at is null and (c.type <> 'livestream' or c.member_count <= ${limits.crowd})`

const selectAllCounts = (db: Tx, users: User[]) => db<Count[]>`
  select m.app_id, m.user_id, m.channel_id, ${unread(db)} as count
  from unnest(${users.map(({ appId }) => appId)}::uuid[], ${users.map(({ userId }) => userId)}::text[]) as r (app_id, user_id)
  join members m on m.app_id = r.app_id and m.user_id = r.user_id
  join channels c on c.id = m.channel_id and c.deleted_at is null`
