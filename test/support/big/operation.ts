import type { Api } from '@parley/client/api'
import type { User, World } from '../world.ts'
import type { BigApp } from './app.ts'

/** How many rows of a list a search looks at in its order. */
export const WALKED = 2_000
/** The tombstones after a marker that are counted one by one. */
export const PART = 500

/** An operation, and how many rows it returns. */
export type Operation = {
  returned: number
  /** How many more rows it may read, whatever the size. */
  beside?: number
  /** The items that it must read more of in a larger app, and their number. */
  grows?: { of: string; count: number }
  /** Why it walks through a table from end to end. */
  scans?: string
  /** How many operations, or answers, in one it is: each may take the time of one. */
  times?: number
  run: () => Promise<unknown>
}
/** The operations that are run, by a name: that of the contract, and any variant. */
export type Operations = Record<string, Operation>

/** A big app, and who calls. The answers are not checked: that would take longer than they do. */
export type Big = BigApp & {
  world: World
  ana: Api
  ben: Api
  busy: Api
  backend: Api
  operator: Api
  users: [ana: User, ben: User, busy: User]
  /** Another number, and text, at each call. */
  next: () => number
  unique: () => string
  /** The id of the message of this seq. */
  at: (channelId: string, seq: number) => Promise<string>
}
