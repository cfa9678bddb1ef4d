import { type UserRef, userKey } from '../core/user-ref.ts'
import { isStatementTimeout } from '../db/client.ts'
import { inChunks, SLOW_PIECES } from './chunks.ts'
import { LeftOut } from './left-out.ts'
import { PausedRuns } from './paused-runs.ts'
import type { Sessions } from './sessions.ts'
import type { CountedUsers } from './unread-counts.ts'

/** How many statements may take too long, one after the other, before the database does. */
const MOST_TIMEOUTS = 4

type SlowUser = {
  user: UserRef
  /** How many users a statement with this one may load. */
  share: number
  readWithinSeconds: number
  /** Whether the load that is under way, if any, may be too old. */
  isMarked: boolean
}

type SlowUsersOptions = {
  pauseMs: number
  sessions: Sessions
  /** Loads these users by one statement, and sends them what they may not know. */
  load: (counted: CountedUsers) => Promise<void>
  report: (error: unknown, problem: string) => void
}

/**
 * Loads the counts of users whose statement took too long, so that no other work waits for them.
 * Those that shared it are tried in pieces, of which each keeps its size from run to run. A user
 * whose own counts take too long is left out for a while.
 */
export class SlowUsers {
  readonly #users = new Map<string, SlowUser>()
  readonly #leftOut = new LeftOut()
  readonly #runs: PausedRuns

  constructor(readonly options: SlowUsersOptions) {
    this.#runs = new PausedRuns({
      pauseMs: options.pauseMs,
      work: () => this.#run(),
      isDue: () => this.#due().length > 0,
      onFailure: (error) => options.report(error, 'unread count failed'),
    })
  }

  has(user: UserRef) {
    return this.#users.has(userKey(user))
  }

  /** Those of these users that are slow are loaded, once more if they are being loaded now. */
  mark({ users, readWithinSeconds = 0 }: CountedUsers) {
    for (const user of users) {
      const slow = this.#users.get(userKey(user))
      if (!slow) continue
      slow.isMarked = true
      slow.readWithinSeconds = Math.max(readWithinSeconds, slow.readWithinSeconds)
    }
  }

  /** Takes over the users of a statement that took too long, with this error. */
  add({ users, readWithinSeconds = 0 }: CountedUsers, error: unknown) {
    const share = Math.ceil(users.length / SLOW_PIECES)
    this.mark({ users, readWithinSeconds })
    for (const user of users) {
      const known = this.#users.get(userKey(user)) ?? { user, readWithinSeconds, isMarked: true }
      this.#users.set(userKey(user), { ...known, share })
      if (users.length === 1) this.#leaveOut(user, error)
    }
    this.#runs.schedule()
  }

  stop() {
    return this.#runs.stop()
  }

  async #run() {
    let timeouts = 0
    for (const group of this.#groups()) {
      const users = group.map(({ user }) => user)
      const readWithinSeconds = Math.max(...group.map((slow) => slow.readWithinSeconds))
      for (const slow of group) slow.isMarked = false
      try {
        await this.options.load({ users, readWithinSeconds })
        timeouts = 0
        for (const slow of group) this.#loaded(slow)
      } catch (error) {
        if (!isStatementTimeout(error)) throw error
        this.add({ users, readWithinSeconds }, error)
        timeouts += 1
        if (timeouts === MOST_TIMEOUTS) throw error
      }
    }
  }

  #loaded({ user, isMarked }: SlowUser) {
    this.#leftOut.worked(userKey(user))
    if (!isMarked) this.#users.delete(userKey(user))
  }

  #leaveOut(user: UserRef, error: unknown) {
    this.#leftOut.add(userKey(user), { error, onEnd: () => this.#runs.schedule() })
    this.options.report(error, 'unread counts of a user took too long')
  }

  /** The users to load now, of those who are still there. */
  #due() {
    for (const [key, { user }] of this.#users)
      if (!this.options.sessions.has(user)) this.#users.delete(key)
    return [...this.#users].flatMap(([key, slow]) => (this.#leftOut.has(key) ? [] : [slow]))
  }

  /** The users to load now, as many together as each of them may be, the most first. */
  #groups() {
    const byShare = new Map<number, SlowUser[]>()
    for (const slow of this.#due()) {
      const known = byShare.get(slow.share)
      if (known) known.push(slow)
      else byShare.set(slow.share, [slow])
    }
    const shares = [...byShare].sort(([one], [other]) => other - one)
    return shares.flatMap(([share, users]) => [...inChunks(users, share)])
  }
}
