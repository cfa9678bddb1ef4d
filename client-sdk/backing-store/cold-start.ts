import type { TokenResult } from '../generated/types.ts'
import type { LiveRoom } from '../room/index.ts'
import type { ShownChannels, SnapshotKeeper, Snapshots } from './snapshot-source.ts'
import { type OutboxStorage, ownerOf, type StoredSession } from './storage.ts'

type ColdStartOptions = {
  url: string
  /** The user whose data may be shown before there is a token; without one nothing is. */
  userId: string | undefined
  storage: OutboxStorage
  snapshots: Snapshots | undefined
  channels: ShownChannels
  rooms: ReadonlyMap<string, LiveRoom>
  /** Called when the last session is known, before there is a token. */
  onRestored: (session: StoredSession) => void
  /** Called when the user has logged out in another tab. */
  onEnded: () => void
  onError: (error: unknown) => void
}

/**
 * Gives a client the user and the last state before it has a token. Both are stored by the server's
 * address and the user, so that no other user sees them.
 */
export class ColdStart {
  readonly keeper: SnapshotKeeper | undefined
  #restored: StoredSession | undefined
  #isStarted = false
  #isEnded = false
  #wasStored = false
  readonly #report: (error: unknown) => undefined

  constructor(readonly options: ColdStartOptions) {
    const { channels, rooms, onError } = options
    this.keeper = options.snapshots?.keep({ channels, rooms, onError })
    this.#report = (error) => void onError(error)
  }

  /** The key of what is stored for a session. */
  ownerOf(session: StoredSession) {
    return ownerOf(this.options.url, session)
  }

  get user() {
    return (this.#restored ?? this.#unknown)?.user
  }

  /** Restores the last session, or one of a user of whom only the id is known; once. */
  async restore(): Promise<void> {
    if (this.#isStarted) return
    this.#isStarted = true
    const session = await this.#loadSession()
    // A token may have come first, or a logout.
    if (!session || this.#restored || this.#isEnded) return
    this.#restored = session
    this.options.onRestored(session)
    if (!session.appId) return
    this.#wasStored = true
    await this.keeper?.open(this.ownerOf(session))
  }

  /** Refuses tokens of other users. */
  check({ user }: TokenResult) {
    const { userId } = this.options
    if (userId !== undefined && user.id !== userId)
      throw new Error(`the token is of ${user.id}, not of ${userId}`)
  }

  /** Begins with the first token. */
  async begin({ appId, user }: TokenResult): Promise<void> {
    const { userId, storage } = this.options
    if (this.#restored && this.#restored.appId !== appId) this.keeper?.list.drop()
    this.#restored = { appId, user }
    await this.keeper?.open(this.ownerOf({ appId, user }))
    if (userId === undefined || this.#isEnded || !storage.session) return
    await storage.session.put(this.#key, { appId, user }).then(() => {
      this.#wasStored = true
    }, this.#report)
  }

  /**
   * Whether the session is still stored. A logout in any tab removes it; a later login of the same
   * user stores another, with which this tab may continue. Returns `isAssumed` if nobody knows.
   */
  async isLoggedIn(isAssumed: boolean): Promise<boolean> {
    const { storage, onEnded } = this.options
    const load = async () => !!(await storage.session?.load(this.#key))
    const isStored = (this.#wasStored ? await load().catch(this.#report) : undefined) ?? isAssumed
    if (!isStored) onEnded()
    return isStored
  }

  /** Stops storing and restoring. Resolves to the session whose data is to be removed. */
  async end(): Promise<StoredSession | undefined> {
    this.#isEnded = true
    this.keeper?.stop()
    return this.#restored ?? (await this.#loadSession())
  }

  /** Removes everything of a session from this device. */
  async clear(session: StoredSession | undefined): Promise<void> {
    this.#restored = undefined
    if (session) await this.keeper?.clear(this.ownerOf(session))
    await this.options.storage.session?.delete(this.#key).catch(this.#report)
  }

  async #loadSession(): Promise<StoredSession | undefined> {
    const { userId, storage } = this.options
    const session = await storage.session?.load(this.#key).catch(this.#report)
    // It may be a foreign row.
    return session?.user?.id === userId && session?.appId ? session : this.#unknown
  }

  /** The session of a user who has never had a token here. */
  get #unknown(): StoredSession | undefined {
    const { userId } = this.options
    return userId === undefined
      ? undefined
      : { appId: '', user: { id: userId, name: '', image: null } }
  }

  get #key() {
    return `${this.options.url} ${this.options.userId}`
  }
}
