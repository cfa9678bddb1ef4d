import { limits } from '@parley/contract'
import type { DurablePublication } from './publication.ts'

/** A token bucket of commands: its size, and how many a connection earns in a second. */
const COMMAND_BURST = 2_500
const COMMANDS_PER_SECOND = 100
/** The number of refused commands after which a connection is closed. */
const MAX_REFUSED = 1_000

/** The commands that a connection may still send. */
export class Credit {
  #credit = COMMAND_BURST
  #creditedAt = performance.now()

  /** Pays for `count` commands. */
  take(count = 1) {
    const now = performance.now()
    const earned = ((now - this.#creditedAt) / 1000) * COMMANDS_PER_SECOND
    this.#credit = Math.min(COMMAND_BURST, this.#credit + earned) - count
    this.#creditedAt = now
  }

  /** Pays for a reply: as much as commands of its length would cost. */
  takeReply(bytes: number) {
    this.take(Math.floor(bytes / limits.realtime.commandBytes))
  }

  /** Whether commands are refused. */
  get isUsedUp() {
    return this.#credit < 0
  }

  /** Whether more than `MAX_REFUSED` commands were refused: the connection is closed. */
  get isAbused() {
    return this.#credit < -MAX_REFUSED
  }
}

const { burstBytes, bytesPerSecond } = limits.realtime.recoveries

/**
 * The bytes of missed events that a socket may still recover, in any number of subscribes.
 * Those in the database count when they are measured, those from memory when they are sent.
 */
export class Recoveries {
  #left: number = burstBytes
  #earnedAt = performance.now()

  /**
   * Pays for a recovery. However much it was, the debt is at most one burst, so a socket recovers
   * again after it has earned that.
   */
  take(bytes: number) {
    this.#earn()
    this.#left = Math.max(-burstBytes, this.#left - bytes)
  }

  /** Whether missed events are no longer sent: the client has to load the current state. */
  get isUsedUp() {
    this.#earn()
    return this.#left <= 0
  }

  #earn() {
    const now = performance.now()
    const earned = ((now - this.#earnedAt) / 1000) * bytesPerSecond
    this.#left = Math.min(burstBytes, this.#left + earned)
    this.#earnedAt = now
  }
}

export type FrameBudget = { bytes: number; recoveries: Recoveries }

/** The events that a subscriber is sent: from memory, then from the database. */
type RecoveredEvents = { remembered: DurablePublication[]; missed: DurablePublication[] }

/**
 * Takes the bytes of publications off the budget of a frame, and pays for those that were not read
 * from the database. False if they exceed it.
 */
export function takeFrom(budget: FrameBudget, { remembered, missed }: RecoveredEvents) {
  const rememberedBytes = bytesOf(remembered)
  const bytes = rememberedBytes + bytesOf(missed)
  if (bytes > budget.bytes) return false
  budget.bytes -= bytes
  budget.recoveries.take(rememberedBytes)
  return true
}

const bytesOf = (publications: DurablePublication[]) =>
  publications.reduce((sum, { envelope }) => sum + Buffer.byteLength(envelope), 0)
