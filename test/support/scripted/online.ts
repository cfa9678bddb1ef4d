/** The users who are online, and how often the presence of each has changed. */
export class OnlineUsers extends Set<string> {
  readonly versions = new Map<string, number>()

  override add(userId: string) {
    this.#bump(userId)
    return super.add(userId)
  }

  override delete(userId: string) {
    this.#bump(userId)
    return super.delete(userId)
  }

  #bump(userId: string) {
    this.versions.set(userId, (this.versions.get(userId) ?? 0) + 1)
  }
}
