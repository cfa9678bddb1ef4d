type OfUser = { subscriber: { userId: string } }

/** The subscriptions of a topic. */
export class Subscriptions<Subscription extends OfUser> implements Iterable<Subscription> {
  readonly #all = new Set<Subscription>()
  /**
   * By user, from the first event for one user on: each read in a large channel causes one, which
   * must not cost as much as the channel has subscriptions.
   */
  #byUser: Map<string, readonly Subscription[]> | undefined

  get size() {
    return this.#all.size
  }

  [Symbol.iterator]() {
    return this.#all.values()
  }

  has(subscription: Subscription) {
    return this.#all.has(subscription)
  }

  /** The subscriptions of a user, or all if no user is given. */
  of(userId: string | undefined): Iterable<Subscription> {
    if (userId === undefined) return this.#all
    if (!this.#byUser) {
      this.#byUser = new Map()
      for (const each of this.#all) note(this.#byUser, each)
    }
    return this.#byUser.get(userId) ?? []
  }

  add(subscription: Subscription) {
    this.#all.add(subscription)
    if (this.#byUser) note(this.#byUser, subscription)
  }

  /** Returns whether it was there. */
  delete(subscription: Subscription) {
    const { userId } = subscription.subscriber
    const others = this.#byUser?.get(userId)?.filter((each) => each !== subscription)
    if (others?.length === 0) this.#byUser?.delete(userId)
    else if (others) this.#byUser?.set(userId, others)
    return this.#all.delete(subscription)
  }
}

function note<Subscription extends OfUser>(
  byUser: Map<string, readonly Subscription[]>,
  subscription: Subscription,
) {
  const { userId } = subscription.subscriber
  byUser.set(userId, [...(byUser.get(userId) ?? []), subscription])
}
