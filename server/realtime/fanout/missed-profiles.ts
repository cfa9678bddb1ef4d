import type { Metrics } from '../../core/metrics.ts'
import { type UserRef, userKey } from '../../core/user-ref.ts'
import type { Db, Tx } from '../../db/client.ts'
import { FIRST_ID } from '../../db/sql.ts'
import { profileVersion, publicColumns } from '../../features/users/view.ts'
import type { ProfileChange } from '../broker/index.ts'
import { MOST_LOST, OVERLAP_MS, PAGE, RETRY_MS } from './missed.ts'

type MissedProfilesOptions = {
  db: Db
  /** Sends the change to the users of this node. */
  notify: (change: ProfileChange) => void
  metrics: Pick<Metrics, 'profilesGivenUp'>
  report: (error: unknown, problem: string) => void
}

/**
 * Finds new names and images that the users of this node may have missed, however many changed in
 * that time.
 */
export class MissedProfiles {
  /** Since when changes may be missed, by the monotonic clock; undefined if none was. */
  #since: number | undefined
  /** Users whose note arrived during the search. It may be newer than what the search finds. */
  readonly #noted = new Set<string>()
  #isSearching = false
  /** Users whose last change could not be sent. */
  #lost = new Map<string, UserRef>()
  /** How many changes were given up and not yet reported. */
  #givenUp = 0

  constructor(readonly options: MissedProfilesOptions) {}

  /** Notes that the users of this node are being sent this change. */
  record({ appId, user }: ProfileChange) {
    if (this.#isSearching) this.#noted.add(userKey({ appId, userId: user.id }))
  }

  /** The change could not be sent to the users of this node: the next search finds it. */
  handleLost({ appId, user }: ProfileChange) {
    this.#retryLater([{ appId, userId: user.id }])
  }

  /** Notes that changes of the last milliseconds may not have been sent. */
  missed(milliseconds: number) {
    const since = performance.now() - milliseconds - OVERLAP_MS
    this.#since = Math.min(since, this.#since ?? since)
  }

  /** Sends what was missed. If that fails, it is still missed. */
  async catchUp() {
    const since = this.#since
    const lost = this.#lost
    if (since === undefined && lost.size === 0) return
    this.#since = undefined
    this.#lost = new Map()
    this.#isSearching = true
    try {
      const sent = since === undefined ? [] : await this.#sendChanged(since)
      for (const user of sent) lost.delete(user)
      await this.#sendLost([...lost.values()])
    } catch (error) {
      if (since !== undefined) this.#since = Math.min(since, this.#since ?? since)
      const later = this.#lost
      this.#lost = lost
      this.#retryLater([...later.values()])
      throw error
    } finally {
      this.#isSearching = false
      this.#noted.clear()
    }
    this.#reportGivenUp()
  }

  #retryLater(users: UserRef[]) {
    for (const user of users) {
      this.#lost.delete(userKey(user))
      this.#lost.set(userKey(user), user)
    }
    for (const key of this.#lost.keys()) {
      if (this.#lost.size <= MOST_LOST) break
      this.#lost.delete(key)
      // If a search is due, it finds the change, unless that is older.
      if (this.#since === undefined) this.#givenUp += 1
    }
  }

  /** Many may be given up at once, so they share a line of the log. */
  #reportGivenUp() {
    if (this.#givenUp === 0) return
    const { metrics, report } = this.options
    metrics.profilesGivenUp.inc(this.#givenUp)
    report(new Error(`of ${this.#givenUp} users`), 'changes of profiles given up')
    this.#givenUp = 0
  }

  /** Returns the keys of those whose change was sent. */
  async #sendChanged(since: number) {
    const sent: string[] = []
    let after: ChangedProfile | undefined
    do {
      const from = after
      const milliseconds = performance.now() - since
      const page = await this.options.db.use((db) => selectChanged(db, { milliseconds, from }))
      this.#send(page)
      sent.push(...page.map(userKey))
      after = page.length < PAGE ? undefined : page.at(-1)
    } while (after)
    return sent
  }

  async #sendLost(users: UserRef[]) {
    if (users.length === 0) return
    const found = await this.options.db.use((db) => selectLost(db, users))
    const recent = found.filter(({ isRecent }) => isRecent)
    this.#send(recent)
    this.#givenUp += found.length - recent.length
  }

  #send(users: VersionedProfile[]) {
    for (const { appId, userId, name, image, version } of users) {
      if (this.#noted.has(userKey({ appId, userId }))) continue
      this.options.notify({ appId, user: { id: userId, name, image }, version })
    }
  }
}

type VersionedProfile = UserRef & { name: string; image: string | null; version: number }
type ChangedProfile = VersionedProfile & { changedAt: string }
/** A change that is no longer recent has been tried for long enough. */
type LostUser = VersionedProfile & { isRecent: boolean }
type ProfilesQuery = { milliseconds: number; from: ChangedProfile | undefined }

/** The next of those who changed in the last milliseconds, in the order of their changes. */
const selectChanged = (db: Tx, { milliseconds, from }: ProfilesQuery) => db<ChangedProfile[]>`
  select
    u.app_id, u.id as user_id, ${publicColumns(db)},
    ${profileVersion(db)} as version,
    u.profile_changed_at::text as changed_at
  from users u
  where u.profile_changed_at > now() - ${milliseconds} * interval '1 millisecond'
    and (u.profile_changed_at, u.app_id, u.id)
      > (${from?.changedAt ?? '-infinity'}, ${from?.appId ?? FIRST_ID}, ${from?.userId ?? ''})
  order by u.profile_changed_at, u.app_id, u.id
  limit ${PAGE}`

function selectLost(db: Tx, lost: UserRef[]) {
  const appIds = lost.map(({ appId }) => appId)
  const userIds = lost.map(({ userId }) => userId)
  return db<LostUser[]>`
    select
      u.app_id, u.id as user_id, ${publicColumns(db)},
      ${profileVersion(db)} as version,
      u.profile_changed_at > now() - ${RETRY_MS} * interval '1 millisecond' as is_recent
    from unnest(${appIds}::uuid[], ${userIds}::text[]) as given (app_id, user_id)
    join users u on u.app_id = given.app_id and u.id = given.user_id
    where u.deleted_at is null`
}
