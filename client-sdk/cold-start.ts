import type { RestoredChannels } from './channels/restored.ts'
import type { LiveRoom } from './room/index.ts'
import type { RoomSnapshot, Snapshots, SnapshotWriter } from './snapshot-source.ts'
import type { OutboxStorage, StoredSession } from './storage.ts'
import type { TokenResult } from './types.ts'

type ColdStartOptions = {
  url: string
  /** Whose data may be shown before a token came; without one nothing is. */
  userId: string | undefined
  storage: OutboxStorage
  snapshots: Snapshots | undefined
  restored: RestoredChannels
  rooms: ReadonlyMap<string, LiveRoom>
  /** The session of the last time is known, before there is a token. */
  onRestored: (session: StoredSession) => void
  onError: (error: unknown) => void
}

/**
 * What a client knows before it has a token: who the user is, and what was shown last. Both are
 * stored by the server's address and the user, so that no other user sees them.
 */
export class ColdStart {
  #restored: StoredSession | undefined
  #rooms = new Map<string, RoomSnapshot>()
  #epoch: string | undefined
  #owner: string | undefined
  #writer: SnapshotWriter | undefined
  #isStarted = false
  #isEnded = false

  readonly #report: (error: unknown) => undefined

  constructor(readonly options: ColdStartOptions) {
    this.#report = (error) => void options.onError(error)
  }

  get user() {
    return this.#restored?.user
  }

  /** Restores the last session, once. */
  async restore(): Promise<void> {
    const { userId, onRestored } = this.options
    if (this.#isStarted || userId === undefined) return
    this.#isStarted = true
    const session = await this.#loadSession()
    // A token may have come first, or a logout.
    if (!session || this.#owner !== undefined || this.#isEnded) return
    this.#restored = session
    onRestored(session)
    await this.#open(session)
  }

  /** Refuses tokens of other users. */
  check({ user }: TokenResult) {
    const { userId } = this.options
    if (userId !== undefined && user.id !== userId)
      throw new Error(`the token is of ${user.id}, and the client of ${userId}`)
  }

  /** The first token came. */
  async begin({ appId, user }: TokenResult): Promise<void> {
    const { userId, storage, restored } = this.options
    if (this.#isEnded) return
    if (this.#restored && this.#restored.appId !== appId) restored.drop()
    this.#restored = { appId, user }
    await this.#open({ appId, user })
    if (userId !== undefined && !this.#isEnded)
      await storage.session?.put(this.#key, { appId, user }).catch(this.#report)
  }

  /** Shows what was stored of a room that is opened now. */
  open(room: LiveRoom) {
    const snapshot = this.#rooms.get(room.id)
    if (snapshot) room.restore(snapshot)
    this.#rooms.delete(room.id)
  }

  /** Something that is shown has changed: a room, or without an id the list. */
  readonly note = (channelId?: string) => this.#writer?.note(channelId)

  flush() {
    this.#writer?.flush()
  }

  /** The server's numbering; another one makes what was stored worthless. */
  async handleEpoch(epoch: string): Promise<void> {
    const { snapshots, restored } = this.options
    const before = this.#epoch
    this.#epoch = epoch
    if (before === undefined || before === epoch || this.#owner === undefined) return
    this.#rooms.clear()
    restored.drop()
    await snapshots?.clear(this.#owner).catch(this.#report)
  }

  /** Stores and restores nothing from now on; resolves to the session whose data is to go. */
  async end(): Promise<StoredSession | undefined> {
    this.#isEnded = true
    this.#writer?.stop()
    this.#writer = undefined
    this.#rooms.clear()
    return this.#restored ?? (await this.#loadSession())
  }

  /** Removes everything of a session from this device. */
  async clear(session: StoredSession | undefined): Promise<void> {
    const { storage, snapshots } = this.options
    this.#owner = undefined
    this.#restored = undefined
    if (session) await snapshots?.clear(this.#ownerOf(session)).catch(this.#report)
    await storage.session?.delete(this.#key).catch(this.#report)
  }

  async #loadSession(): Promise<StoredSession | undefined> {
    const { userId, storage } = this.options
    if (userId === undefined) return undefined
    const session = await storage.session?.load(this.#key).catch(this.#report)
    // It may be a foreign row.
    return session?.user?.id === userId && session.appId ? session : undefined
  }

  #ownerOf({ appId, user }: StoredSession) {
    return `${this.options.url} ${appId}:${user.id}`
  }

  get #key() {
    return `${this.options.url} ${this.options.userId}`
  }

  async #open(session: StoredSession) {
    const { snapshots, restored, rooms } = this.options
    const owner = this.#ownerOf(session)
    if (!snapshots || this.#owner === owner) return
    this.#owner = owner
    this.#rooms.clear()
    const loaded = await snapshots.load(owner).catch(this.#report)
    if (this.#owner !== owner || this.#isEnded) return
    if (loaded) {
      const { list } = loaded
      const isCurrent = (epoch: string) => this.#epoch === undefined || this.#epoch === epoch
      if (list && isCurrent(list.epoch)) {
        this.#epoch = list.epoch
        restored.show(list)
      }
      for (const [id, room] of loaded.rooms) if (isCurrent(room.epoch)) this.#rooms.set(id, room)
      for (const room of rooms.values()) this.open(room)
    }
    this.#writer = snapshots.start(owner, {
      list: () => {
        const listed = restored.next()
        return listed && this.#epoch !== undefined ? { ...listed, epoch: this.#epoch } : undefined
      },
      room: (channelId) => rooms.get(channelId)?.snapshot(),
    })
    for (const id of [undefined, ...rooms.keys()]) this.note(id)
  }
}
