import type { ServerResponse } from 'node:http'
import type { Gone } from '../core/admission.ts'

/**
 * Knows whether the caller disconnected before the answer. Watches the connection only once a call
 * has to wait, which few do.
 */
export class Departure implements Gone {
  #waiting: Set<() => void> | undefined

  constructor(readonly response: ServerResponse) {}

  get isOver() {
    return this.response.destroyed
  }

  add(leave: () => void) {
    this.#waiting ??= this.#watch()
    this.#waiting.add(leave)
  }

  delete(leave: () => void) {
    this.#waiting?.delete(leave)
  }

  #watch() {
    const waiting = new Set<() => void>()
    this.response.once('close', () => {
      if (this.response.writableFinished) return
      for (const leave of waiting) leave()
    })
    return waiting
  }
}
