import { RestoredChannels } from '../channels/restored.ts'
import { restoreRoom, snapshotOf } from '../room/snapshot.ts'
import type {
  RoomSnapshot,
  ShownSource,
  SnapshotKeeper,
  Snapshots,
  SnapshotWriter,
} from './snapshot-source.ts'

/** Restores and stores what a client shows, as long as it is of one owner and one numbering. */
export class ClientSnapshots implements SnapshotKeeper {
  /** The snapshots of rooms that were not opened yet. */
  readonly #rooms = new Map<string, RoomSnapshot>()
  /** The channels that the user could no longer read, at some time since the start. */
  readonly #lost = new Set<string>()
  #epoch: string | undefined
  #owner: string | undefined
  #writer: SnapshotWriter | undefined
  #isStopped = false
  readonly list: RestoredChannels
  readonly #report: (error: unknown) => undefined

  constructor(
    readonly snapshots: Omit<Snapshots, 'keep'>,
    readonly shown: ShownSource,
  ) {
    this.list = new RestoredChannels(shown.channels)
    this.#report = (error) => void shown.onError(error)
  }

  async open(owner: string) {
    const { rooms } = this.shown
    if (this.#owner === owner || this.#isStopped) return
    this.#owner = owner
    this.#rooms.clear()
    const loaded = await this.snapshots.load(owner).catch(this.#report)
    if (this.#owner !== owner || this.#isStopped) return
    const { list, rooms: stored = new Map<string, RoomSnapshot>() } = loaded ?? {}
    const all = [...(list ? [list] : []), ...stored.values()]
    this.#epoch ??= all[0]?.epoch
    if (all.some(({ epoch }) => epoch !== this.#epoch)) void this.clear(owner)
    else {
      if (list) this.list.show(list)
      const readable = [...stored].filter(([id]) => !this.#lost.has(id))
      for (const [id, room] of readable) this.#rooms.set(id, room)
    }
    for (const room of rooms.values()) this.openRoom(room)
    this.#start(owner)
  }

  openRoom(room: Parameters<SnapshotKeeper['openRoom']>[0]) {
    const snapshot = this.#rooms.get(room.id)
    if (snapshot) restoreRoom(room.sync, snapshot)
    this.#rooms.delete(room.id)
  }

  readonly note = (channelId?: string) => this.#writer?.note(channelId)

  removeRoom(channelId: string) {
    this.#lost.add(channelId)
    this.#rooms.delete(channelId)
    if (this.#owner !== undefined) void this.snapshots.removeRoom(this.#owner, channelId)
  }

  flush() {
    this.#writer?.flush()
  }

  async handleEpoch(epoch: string) {
    const before = this.#epoch
    this.#epoch = epoch
    if (before === undefined || before === epoch || this.#owner === undefined) return
    this.#rooms.clear()
    this.list.drop()
    await this.clear(this.#owner)
  }

  stop() {
    this.#isStopped = true
    this.#writer?.stop()
    this.#writer = undefined
    this.#rooms.clear()
  }

  async clear(owner: string) {
    await this.snapshots.clear(owner).catch(this.#report)
  }

  #start(owner: string) {
    const { list } = this
    const { rooms } = this.shown
    this.#writer = this.snapshots.start(owner, {
      list: () => {
        const listed = list.next()
        return listed && this.#epoch !== undefined ? { ...listed, epoch: this.#epoch } : undefined
      },
      room: (channelId) => {
        const room = rooms.get(channelId)
        return room && snapshotOf(room.sync)
      },
    })
    for (const id of [undefined, ...rooms.keys()]) this.note(id)
  }
}
