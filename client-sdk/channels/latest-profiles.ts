import type { UserSummary } from '../generated/types.ts'

/**
 * The latest profiles, by events. Copies in records have no version: those in the response to an
 * earlier request may be older.
 */
export class LatestProfiles {
  readonly #profiles = new Map<string, { user: UserSummary; recordedAt: number }>()
  /** A logical clock: it advances with each profile. */
  #clock = 0

  get now() {
    return this.#clock
  }

  takeProfile(user: UserSummary) {
    this.#clock += 1
    this.#profiles.set(user.id, { user, recordedAt: this.#clock })
  }

  /** Forgets them: later ones were missed, and answers have those. */
  clear() {
    this.#profiles.clear()
  }

  after(time: number): UserSummary[] {
    const newer = [...this.#profiles.values()].filter(({ recordedAt }) => recordedAt > time)
    return newer.map(({ user }) => user)
  }
}
