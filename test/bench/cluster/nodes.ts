import { ticksOf, type watchDatabase } from '../http/database.ts'
import { startServer } from '../server.ts'

/** The work that all nodes and the servers behind them have done so far: to be subtracted. */
export type Work = {
  nodes: number
  database: number
  redis: number
  rss: number
  statements: number
}
type Options = {
  count: number
  variables: Record<string, string>
  database: Awaited<ReturnType<typeof watchDatabase>>
  redisPid: number | undefined
  /** The folder in which stopped nodes leave profiles of their CPU. */
  profileDir?: string | undefined
}

/** Several nodes of one service, each a process of its own. */
export async function startNodes(options: Options) {
  const { count, variables, database, redisPid, profileDir } = options
  const start = () => startServer(variables, profileDir)
  const nodes = await Promise.all(Array.from({ length: count }, start))
  const sum = async (read: (node: (typeof nodes)[number]) => Promise<number>) =>
    (await Promise.all(nodes.map(read))).reduce((all, each) => all + each, 0)
  return {
    urls: () => nodes.map(({ url }) => url),
    socketUrls: () => nodes.map(({ url }) => `${url.replace(/^http/, 'ws')}/connection/websocket`),
    work: async (): Promise<Work> => {
      const { cpuSeconds, statements } = await database.read()
      return {
        nodes: await sum(({ cpuSeconds }) => cpuSeconds()),
        database: cpuSeconds,
        redis: redisPid === undefined ? 0 : ticksOf(redisPid) / 100,
        rss: await sum(({ rss }) => rss()),
        statements,
      }
    },
    statements: async () => (await database.read()).statements,
    killLast: () => nodes.at(-1)?.kill(),
    replaceLast: async () => {
      nodes[nodes.length - 1] = await start()
    },
    stop: async () => {
      await Promise.all(nodes.map(({ stop }) => stop()))
    },
  }
}
export type Nodes = Awaited<ReturnType<typeof startNodes>>
