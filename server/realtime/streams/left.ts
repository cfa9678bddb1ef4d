import type { StreamRef } from '../../features/streams/store.ts'

type StoreLeftOptions = {
  /** The next messages that were left, but none of these apps. */
  next: (resting: string[]) => PromiseLike<StreamRef[]> | StreamRef[]
  /** Resolves to false if it failed, or if its app is resting when its turn comes. */
  store: (ref: StreamRef, isResting: () => boolean) => Promise<boolean>
  /**
   * When to stop, by `performance.now()`. The next search takes the rest, and begins with no app
   * resting.
   */
  until: number
}

/**
 * Stores left messages until there are none, so that many of them do not have to wait for the next
 * search. An app of which a message fails rests until then, so it holds up no other.
 */
export async function storeLeft({ next, store, until }: StoreLeftOptions) {
  const resting = new Set<string>()
  while (performance.now() < until) {
    const left = await next([...resting])
    if (left.length === 0) return
    await Promise.all(
      left.map(async (ref) => {
        if (!(await store(ref, () => resting.has(ref.appId)))) resting.add(ref.appId)
      }),
    )
  }
}
