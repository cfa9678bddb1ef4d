type WatchersOptions = {
  onWatched: () => void
  /** Called when nobody has watched for a while. */
  onLeft: () => void
}

/** How long a channel counts as watched after its last watcher left: one may return at once. */
const LINGER_MS = 1_000

/** Counts who watches a channel. */
export class Watchers {
  count = 0
  #leaveTimer: ReturnType<typeof setTimeout> | undefined

  constructor(readonly options: WatchersOptions) {}

  /** Returns the function that ends the watch; it can be called again without effect. */
  add(): () => void {
    const { onWatched, onLeft } = this.options
    this.count += 1
    clearTimeout(this.#leaveTimer)
    onWatched()
    let isWatching = true
    return () => {
      if (!isWatching) return
      isWatching = false
      this.count -= 1
      if (this.count === 0) this.#leaveTimer = setTimeout(onLeft, LINGER_MS)
    }
  }
}
