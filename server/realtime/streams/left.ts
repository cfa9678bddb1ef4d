import type { StreamRef } from '../../features/streams/store.ts'

type StoreLeftOptions = {
  /** The next messages that were left, but none of these apps. */
  next: (resting: string[]) => PromiseLike<StreamRef[]> | StreamRef[]
  /** False: it failed, or its app rests by the time of its turn. */
  store: (ref: StreamRef, isResting: () => boolean) => Promise<boolean>
  /** When to leave the rest to the next look, for which no app rests; by `performance.now()`. */
  until: number
}

/**
 * Stores what was left until nothing is: what many have abandoned keeps nobody waiting for the next
 * look. An app of which a message fails rests until then, and holds up no other.
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
