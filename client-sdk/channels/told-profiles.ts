import type { UserSummary } from '../types.ts'

/**
 * The profiles that events have told, and when. Their copies in records have no version: those in
 * the response to an earlier request may be older.
 */
export class ToldProfiles {
  readonly #profiles = new Map<string, { user: UserSummary; toldAt: number }>()
  /** A logical clock: it advances with each profile. */
  #clock = 0

  get now() {
    return this.#clock
  }

  tell(user: UserSummary) {
    this.#clock += 1
    this.#profiles.set(user.id, { user, toldAt: this.#clock })
  }

  after(time: number): UserSummary[] {
    const told = [...this.#profiles.values()].filter(({ toldAt }) => toldAt > time)
    return told.map(({ user }) => user)
  }
}
