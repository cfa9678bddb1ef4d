/** Why the first line was not printed that could not be. The stream itself forgets it at once. */
let failure: NodeJS.ErrnoException | undefined

const note = (error: Error) => {
  failure ??= error
}
const ignore = () => {}

/**
 * What a command prints may find no room, or nobody who reads it any more. It goes on to its end: a
 * migration is not left half-way for want of a reader.
 */
export function outliveOutputs() {
  process.stdout.off('error', note).on('error', note)
  process.stderr.off('error', ignore).on('error', ignore)
}

/** Throws if something that was printed found no room. Who stops to read has read enough. */
export async function requirePrinted() {
  await new Promise((resolve) => process.stdout.write('', resolve))
  if (failure && failure.code !== 'EPIPE') throw lost(failure)
}

/** Prints a line of what is the purpose of a command, which ends if nobody gets it. */
export function printLine(line: string) {
  process.stdout.write(`${line}\n`)
  const error = failure ?? process.stdout.errored
  if (error) throw lost(error)
}

const lost = ({ message }: Error) => new Error(`The output was lost: ${message}`)
