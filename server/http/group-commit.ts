import { DeadlineError } from '../db/client.ts'

type Entry<Command, Result> = {
  command: Command
  until: number
  resolve: (result: Result) => void
  reject: (error: unknown) => void
}
type Run<Command, Result> = (commands: Command[], until: number) => Promise<Result[]>

/** With less than this left until its deadline a command is not begun: it would take the others down with it. */
const LEAST_MS = 1_000

/**
 * Group commit. Commands of one lane that arrive while others of it are being carried out wait, and are then carried
 * out together. A lane at rest adds no delay; a busy one holds one connection, however many wait in it; no lane waits
 * for another.
 */
export function createGroupCommit<Command, Result>({
  run,
  most,
}: {
  run: Run<Command, Result>
  most: number
}) {
  const lanes = new Map<string, Entry<Command, Result>[]>()

  const drain = async (lane: string, waiting: Entry<Command, Result>[]) => {
    while (waiting.length > 0) {
      const entries = waiting.splice(0, most)
      for (const { reject } of entries.filter(isLate)) reject(new DeadlineError())
      await settle(entries.filter((entry) => !isLate(entry)))
    }
    lanes.delete(lane)
  }
  const settle = async (entries: Entry<Command, Result>[]) => {
    if (entries.length === 0) return
    const until = Math.min(...entries.map((entry) => entry.until))
    const commands = entries.map(({ command }) => command)
    try {
      const results = await run(commands, until)
      for (const [place, { resolve }] of entries.entries()) resolve(results[place] as Result) // one a command, in order
    } catch (error) {
      for (const { reject } of entries) reject(error)
    }
  }

  return (lane: string, command: Command, until: number) =>
    new Promise<Result>((resolve, reject) => {
      const entry = { command, until, resolve, reject }
      const waiting = lanes.get(lane)
      if (waiting) return void waiting.push(entry)
      const started = [entry]
      lanes.set(lane, started)
      void drain(lane, started)
    })
}

const isLate = ({ until }: { until: number }) => until - Date.now() < LEAST_MS
