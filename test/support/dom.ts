import { Window } from 'happy-dom'
import { useGlobals } from './use-globals.ts'

/** A DOM for React during the tests of a file. `acts`: they put each change of state into `act`. */
export function useDom({ acts }: { acts: boolean }) {
  const window = new Window()
  const { document } = window
  useGlobals({ window, document, IS_REACT_ACT_ENVIRONMENT: acts })
  return window
}
