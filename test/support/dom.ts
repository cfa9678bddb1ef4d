import { Window } from 'happy-dom'
import { beforeAll } from 'vitest'

/** A DOM for React, in a file that runs isolated: it stays on `globalThis`. */
export function useDom() {
  const window = new Window()
  beforeAll(() => {
    const { document } = window
    Object.assign(globalThis, { window, document, IS_REACT_ACT_ENVIRONMENT: true })
  })
  return window
}
