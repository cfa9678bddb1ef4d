import { type Envelope, limits, topics } from '@parley/contract'
import type { Tx } from '../db/client.ts'
import { unread } from '../features/reads.ts'
import { keyOf, type User } from './sessions.ts'
import type { UserFanoutOptions } from './user-fanout.ts'

type Options = UserFanoutOptions & { pauseMs: number }
type Count = User & { channelId: string; count: number }
/** What a user is known to have unread. `isTold`: by us; else he may or may not know. Not `isWhole`: only what he was told is known. */
type Known = {
  user: User
  since: number
  isWhole: boolean
  counts: Map<string, { count: number; isTold: boolean }>
  total?: number
}

/** So long after a user's counts are first read, it is uncertain which of them he knows. */
const UNCERTAIN_MS = 20_000
/** When the database could not be asked, it is left alone for so long. */
const RETRY_MS = 1_000

/**
 * Tells the connected users of this node their unread counts, absolute: one statement for all channels in which something
 * happened, the next when that has ended and a pause has passed. So a flood of messages costs no more than it must.
 */
export class UnreadNotifier {
  /** Channels to look at; with the only author of what happened there, whose own badge does not move. */
  #dirty = new Map<string, string | null>()
  /** Users whose channels have become fewer. */
  #leavers = new Map<string, User>()
  /** Users who were told a total that was read before what we have told them, or may have been. */
  #crossed = new Map<string, User>()
  /** The last event of a channel that was looked at. */
  #marked = new Map<string, number>()
  readonly #known = new Map<string, Known>()
  #timer: NodeJS.Timeout | undefined
  #isRunning = false
  #isStopped = false
  #endedAt = 0

  constructor(readonly options: Options) {}

  /** An event of a channel may move badges. */
  mark(
    channelId: string,
    { offset, author = null }: { offset: number; author?: string | null | undefined },
  ) {
    this.#marked.set(channelId, Math.max(offset, this.#marked.get(channelId) ?? 0))
    if (!this.options.sessions.isEmpty) this.#look(channelId, author)
  }

  /** There are events of these channels that this node may not have heard of. Of all others it has now heard long ago. */
  check(recent: { channelId: string; offset: number }[]) {
    const missed = recent.filter(
      ({ channelId, offset }) => offset > (this.#marked.get(channelId) ?? 0),
    )
    const marked = this.#marked
    this.#marked = new Map(
      recent.flatMap(({ channelId }) =>
        marked.has(channelId) ? [[channelId, marked.get(channelId) ?? 0]] : [],
      ),
    )
    for (const each of missed) this.mark(each.channelId, each)
  }

  /** What was looked at may have told nobody. */
  doubt() {
    this.#marked = new Map()
  }

  #look(channelId: string, author: string | null) {
    const isSame = !this.#dirty.has(channelId) || this.#dirty.get(channelId) === author
    this.#dirty.set(channelId, isSame ? author : null)
    this.#schedule()
  }

  /** The user has been told a count elsewhere; it is looked at again, in case it crossed with one of ours. */
  told(user: User, channelId: string, count: number) {
    if (!this.options.sessions.has(user)) return
    const known = this.#knownOf(user)
    // He may have left it since.
    if (!known.isWhole || known.counts.has(channelId))
      known.counts.set(channelId, { count, isTold: true })
    this.#look(channelId, null)
  }

  /** The user has been told his total elsewhere; it is compared with what we know, once that is up to date. */
  toldTotal(user: User, count: number) {
    if (!this.options.sessions.has(user)) return
    this.#knownOf(user).total = count
    this.#crossed.set(keyOf(user), user)
    this.#schedule()
  }

  /** The user was shown a channel that is new to him, with this count; it may have another by now, told to him before. */
  shown(user: User, { id, unreadCount }: { id: string; unreadCount: number }) {
    if (!this.options.sessions.has(user)) return
    this.#knownOf(user).counts.set(id, { count: unreadCount, isTold: true })
    this.#look(id, null)
  }

  /** A member has left a channel, or it is gone: his total is another. */
  left(user: User) {
    if (!this.options.sessions.has(user)) return
    this.#leavers.set(keyOf(user), user)
    this.#schedule()
  }

  /** A channel is gone for all who are known to count it. */
  gone(channelId: string) {
    for (const { user, counts } of this.#known.values()) if (counts.has(channelId)) this.left(user)
  }

  #isWhole(user: User) {
    return this.#known.get(keyOf(user))?.isWhole === true
  }

  #knownOf(user: User): Known {
    const known = this.#known.get(keyOf(user)) ?? {
      user,
      since: Date.now(),
      isWhole: false,
      counts: new Map(),
    }
    this.#known.set(keyOf(user), known)
    return known
  }

  forget(user: User) {
    this.#known.delete(keyOf(user))
  }

  stop() {
    clearTimeout(this.#timer)
    this.#isStopped = true
  }

  #schedule() {
    if (this.#timer !== undefined || this.#isRunning || this.#isStopped) return
    this.#timer = setTimeout(
      () => void this.#run(),
      Math.max(0, this.#endedAt + this.options.pauseMs - Date.now()),
    )
  }

  async #run() {
    this.#timer = undefined
    this.#isRunning = true
    const [dirty, leavers, crossed] = [this.#dirty, this.#leavers, this.#crossed]
    this.#dirty = new Map()
    this.#leavers = new Map()
    this.#crossed = new Map()
    try {
      if (dirty.size > 0) await this.#count(dirty)
      // Last, so that no count read before somebody left stays with him.
      if (leavers.size > 0) await this.#drop([...leavers.values()])
      for (const key of crossed.keys()) this.#correct(this.#known.get(key))
      this.#endedAt = Date.now()
    } catch (error) {
      for (const [key, user] of leavers) this.#leavers.set(key, user)
      for (const [key, user] of crossed) this.#crossed.set(key, user)
      for (const [channelId, author] of dirty) this.#look(channelId, author)
      if (!this.#isStopped) this.options.report(error, 'could not count unread messages')
      this.#endedAt = Date.now() + RETRY_MS
    }
    this.#isRunning = false
    if (this.#dirty.size + this.#leavers.size + this.#crossed.size > 0) this.#schedule()
  }

  async #count(dirty: Map<string, string | null>) {
    const { db, nodeId } = this.options
    const rows = await db.use((db) => selectCounts(db, { nodeId, channelIds: [...dirty.keys()] }))
    const unknown = rows.filter((row) => !this.#isWhole(row))
    const strangers = new Map(
      unknown.map(({ appId, userId }) => [keyOf({ appId, userId }), { appId, userId }]),
    )
    if (strangers.size > 0) await this.#learn([...strangers.values()])
    const changed = new Set(
      rows.flatMap((row) => this.#tell(row, dirty.get(row.channelId) ?? null) ?? []),
    )
    for (const known of changed) this.#tellTotal(known)
  }

  /** Forgets the counts of channels that these users are in no more. In the others they may be members anew, with another count. */
  async #drop(users: User[]) {
    const rows = await this.options.db.use((db) => selectAllCounts(db, users))
    const theirs = new Set(rows.map((row) => `${keyOf(row)} ${row.channelId}`))
    const strangers = users.filter((user) => !this.#isWhole(user))
    this.#meet(strangers, rows)
    for (const row of rows) this.#tell(row, row.userId)
    for (const user of users) {
      const known = this.#known.get(keyOf(user))
      if (!known) continue
      for (const channelId of known.counts.keys())
        if (!theirs.has(`${keyOf(user)} ${channelId}`)) known.counts.delete(channelId)
      this.#tellTotal(known)
    }
  }

  /** Reads all counts of users who had nothing to be told so far. */
  async #learn(users: User[]) {
    this.#meet(users, await this.options.db.use((db) => selectAllCounts(db, users)))
  }

  #meet(users: User[], rows: Count[]) {
    const counts = new Map(users.map((user) => [keyOf(user), new Map<string, number>()]))
    for (const { channelId, count, ...user } of rows) counts.get(keyOf(user))?.set(channelId, count)
    for (const user of users) {
      if (!this.options.sessions.has(user)) continue
      const known = this.#knownOf(user)
      const told = known.counts
      known.since = Date.now()
      known.isWhole = true
      known.counts = new Map(
        [...(counts.get(keyOf(user)) ?? [])].map(([channelId, count]) => [
          channelId,
          told.get(channelId) ?? { count, isTold: false },
        ]),
      )
    }
  }

  /** Answers with whom it has told something. */
  #tell({ channelId, count, ...user }: Count, author: string | null) {
    const known = this.#known.get(keyOf(user))
    if (!known) return undefined
    const last = known.counts.get(channelId)
    const isUncertain =
      !last?.isTold && author !== user.userId && Date.now() - known.since < UNCERTAIN_MS
    if (last?.count === count && !isUncertain) return undefined
    known.counts.set(channelId, { count, isTold: true })
    this.#send(user, { type: 'channel.unread_changed', payload: { channelId, count } })
    return known
  }

  #tellTotal(known: Known) {
    known.total = totalOf(known)
    this.#send(known.user, {
      type: 'channel.total_unread_changed',
      payload: { count: known.total },
    })
  }

  #correct(known: Known | undefined) {
    if (known?.isWhole && known.total !== totalOf(known)) this.#tellTotal(known)
  }

  #send({ appId, userId }: User, event: Envelope) {
    this.options.tell([topics.user(appId, userId)], event)
  }
}

const totalOf = ({ counts }: Known) => [...counts.values()].reduce((sum, one) => sum + one.count, 0)

/** The members connected to this node of these channels, with their counts. In crowds nobody is told. */
const selectCounts = (
  db: Tx,
  { nodeId, channelIds }: { nodeId: string; channelIds: string[] },
) => db<Count[]>`
  select m.app_id, m.user_id, m.channel_id, ${unread(db)} as count
  from channels c
  join members m on m.channel_id = c.id
  join connections k on k.node_id = ${nodeId} and k.app_id = m.app_id and k.user_id = m.user_id
  where c.id = any(${channelIds}::uuid[]) and c.deleted_at is null and (c.type <> 'livestream' or c.member_count <= ${limits.largeLivestreamMembers})`

const selectAllCounts = (db: Tx, users: User[]) => db<Count[]>`
  select m.app_id, m.user_id, m.channel_id, ${unread(db)} as count
  from unnest(${users.map(({ appId }) => appId)}::uuid[], ${users.map(({ userId }) => userId)}::text[]) as r (app_id, user_id)
  join members m on m.app_id = r.app_id and m.user_id = r.user_id
  join channels c on c.id = m.channel_id and c.deleted_at is null`
