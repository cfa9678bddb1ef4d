import { CONTENDED } from '@parley/server/core/operation'
import { createGroupCommit } from '@parley/server/http/group-commit'
import { vi } from 'vitest'
import { patient } from './until.ts'

/** Room for all commands of a test. Each counts as one byte. */
export const sizes = {
  bytesOf: (_: string) => 1,
  batch: { commands: 64, bytes: 1_000 },
  waiting: { commands: 1_000, bytes: 10_000 },
  onRefused: () => {},
}

/** A group commit whose batches are recorded. Each runs once it is released. */
export function recorded(options: Partial<typeof sizes> & { batchesAtOnce?: number } = {}) {
  const batches: { commands: string[]; until: number; settle: (error?: Error) => void }[] = []
  const attempt = createGroupCommit<string, string>({
    ...sizes,
    ...options,
    run: (commands, { until }) =>
      new Promise((resolve, reject) => {
        const results = commands.map((command) => `${command} done`)
        const settle = (error?: Error) => (error ? reject(error) : resolve(results))
        batches.push({ commands, until, settle })
      }),
  })
  const batch = (index: number) => vi.waitUntil(() => batches[index], patient)
  return { attempt, batches, batch }
}

/** A group whose transactions end by hand. */
export function startGroup(isLockedByOthers = (_: string) => false) {
  const running: { commands: string[]; waitsForLocks: boolean; finish: () => void }[] = []
  const attempt = createGroupCommit<string, string>({
    run: (commands, { waitsForLocks }) =>
      new Promise((resolve) => {
        const results = commands.map((command) =>
          !waitsForLocks && isLockedByOthers(command) ? CONTENDED : command,
        )
        running.push({ commands, waitsForLocks, finish: () => resolve(results) })
      }),
    ...sizes,
  })
  const send = (command: string) => {
    const [resource = ''] = command
    return attempt({ group: 'app', resource }, command, performance.now() + 60_000)
  }
  const batches = () => running.map(({ commands }) => commands)
  const finish = async (index: number) => {
    running[index]?.finish()
    await new Promise(setImmediate)
  }
  return { send, batches, finish, running }
}
