import type { RetentionContext } from './delete-in-steps.ts'

/** How many are remembered. If more fail, the others wait for the next walk. */
const MOST_FAILED = 1_000

/**
 * Runs parts of a walk, each of which may fail alone, and remembers those that failed: a walk
 * begins once an hour, and they are to be tried again in the next pass. So is one that has not
 * ended with its turn; it goes to the end, to delay no other.
 */
export function createRetries<Part extends { id: string }, Context extends Attempting>(
  run: (context: Context, part: Part) => Promise<void>,
) {
  const failed = new Map<string, Part>()
  const attempt = async (context: Context, part: Part) => {
    failed.delete(part.id)
    if (failed.size < MOST_FAILED) failed.set(part.id, part)
    if (await context.attempt(() => run(context, part))) failed.delete(part.id)
  }
  return {
    attempt,
    haveFailed: () => failed.size > 0,
    /** Tries those that failed again. */
    repeat: async (context: Context) => {
      for (const part of [...failed.values()]) await attempt(context, part)
    },
  }
}
type Attempting = Pick<RetentionContext, 'attempt'>
