import { onTestFinished } from 'vitest'

/** Errors that would have ended the process. */
export function watchForDeath() {
  const errors: unknown[] = []
  const note = (error: unknown) => void errors.push(error)
  process.on('uncaughtException', note)
  process.on('unhandledRejection', note)
  onTestFinished(() => {
    process.off('uncaughtException', note)
    process.off('unhandledRejection', note)
  })
  return errors
}
