/** The first error of a print, which the stream itself does not keep. */
let failure: NodeJS.ErrnoException | undefined

const note = (error: Error) => {
  failure ??= error
}
const ignore = () => {}

/**
 * Lets a command run to its end although its output has no room, or is no longer read: a migration
 * must not stop half-way because nobody reads.
 */
export function outliveOutputs() {
  process.stdout.off('error', note).on('error', note)
  process.stderr.off('error', ignore).on('error', ignore)
}

/** Throws if output was lost for lack of room. A reader that stopped has read enough. */
export async function requirePrinted() {
  await new Promise((resolve) => process.stdout.write('', resolve))
  if (failure && failure.code !== 'EPIPE') throw lost(failure)
}

/** Prints a line of the result of a command. Throws if it was lost: the command ends then. */
export function printLine(line: string) {
  process.stdout.write(`${line}\n`)
  const error = failure ?? process.stdout.errored
  if (error) throw lost(error)
}

const lost = ({ message }: Error) => new Error(`The output was lost: ${message}`)
