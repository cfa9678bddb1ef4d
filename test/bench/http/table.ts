import { median } from '../server.ts'

/** One round of one target, or the medians of all its rounds. */
export type Round = {
  perSecond: number
  p50: number
  p99: number
  /** Microseconds of CPU a message. */
  node: number
  postgres: number
  statements: number
  walBytes: number
  /** The part of all CPU time that the clients took. */
  clients: number
}
export type Row = { workers: number; target: string; connections: number; failed: number } & Round

/** The medians of rounds, each figure by itself. */
export const medians = (rounds: Round[]): Round => ({
  perSecond: median(rounds.map(({ perSecond }) => perSecond)),
  p50: median(rounds.map(({ p50 }) => p50)),
  p99: median(rounds.map(({ p99 }) => p99)),
  node: median(rounds.map(({ node }) => node)),
  postgres: median(rounds.map((round) => round.postgres)),
  statements: median(rounds.map(({ statements }) => statements)),
  walBytes: median(rounds.map(({ walBytes }) => walBytes)),
  clients: median(rounds.map(({ clients }) => clients)),
})

/** The rows of one number of connections, with their rates relative to the first three. */
export function printTable(rows: Row[], baselines: string[]) {
  const rateOf = (name: string) => rows.find(({ target }) => target === name)?.perSecond ?? 0
  const [{ connections, workers } = { connections: 0, workers: 1 }] = rows
  console.log(`\n${connections} connections${workers > 1 ? `, ${workers} worker processes` : ''}`)
  const heads = ['/s', 'p50 ms', 'p99 ms', 'node µs', 'pg µs', 'stmts', 'WAL B', 'clients']
  print('', [...heads, ...baselines.map((name) => `of ${name}`)])
  for (const row of rows) {
    const { perSecond, p50, p99, node, postgres, statements, walBytes, clients, failed } = row
    print(row.target + (failed > 0 ? ` (${failed} failed)` : ''), [
      perSecond.toFixed(0),
      p50.toFixed(1),
      p99.toFixed(1),
      node.toFixed(0),
      postgres.toFixed(0),
      statements.toFixed(2),
      walBytes.toFixed(0),
      `${(clients * 100).toFixed(0)} %`,
      ...baselines.map((name) => (perSecond / rateOf(name)).toFixed(2)),
    ])
  }
}

const print = (name: string, cells: string[]) =>
  console.log(name.padEnd(22) + cells.map((cell) => cell.padStart(12)).join(''))
