import type { connectOnce } from '@parley/server/db/client'

/** The sizes at scale 1. */
export const sizes = {
  users: 1_000_000,
  channels: 100_000,
  messagesInLarge: 1_000_000,
  members: 200_000,
  tombstones: 300_000,
  channelsOfBusy: 10_000,
  events: 1_000_000,
  records: 200_000,
}

/**
 * A large app. `busy` is in many channels and workspaces, `ana` and `ben` are in `large` and
 * `tombstones`, and `ana` owns the workspace `team`.
 */
export type BigApp = {
  /** A group of very many members and messages. */
  large: string
  /** A group that ends in very many tombstones. */
  tombstones: string
  /** A workspace of very many members, channels and invites. */
  team: string
  /** A webhook of very many deliveries. */
  webhook: string
  counts: typeof sizes
}

export type Db = ReturnType<typeof connectOnce>
export type App = BigApp & { appId: string }
