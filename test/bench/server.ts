import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { connectOnce } from '@parley/server/db/client'
import { freePorts } from '../support/ports.ts'

export const ADMIN_KEY = 'admin-key-of-the-bench'
export const JWT_SECRET = 'a secret of the bench, 32 bytes or more'

/** A new, empty database on a server; returns its address. */
export async function createDatabase(serverUrl: string, name: string) {
  const admin = connectOnce(serverUrl)
  await admin.unsafe(`create database ${name}`)
  await admin.end()
  const url = new URL(serverUrl)
  url.pathname = `/${name}`
  return url.href
}

/** The sources, or their bundle if the environment names one: it starts in a fifth of the time. */
const program = process.env.BENCH_PROGRAM
  ? [process.env.BENCH_PROGRAM]
  : ['--conditions=parley-source', '--import', 'tsx', 'server/bin/parley.ts']

/**
 * A server in a process of its own, as in production, without limits. With `profileDir` it leaves a
 * profile of its CPU there when it stops.
 */
export async function startServer(variables: Record<string, string>, profileDir?: string) {
  const [port, metricsPort] = await freePorts(2)
  const child = spawn(
    process.execPath,
    [
      ...(profileDir === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${profileDir}`]),
      ...program,
      'start',
    ],
    {
      cwd: fileURLToPath(new URL('../..', import.meta.url)),
      stdio: ['ignore', 'ignore', 'inherit'],
      env: {
        PATH: process.env.PATH,
        NODE_ENV: 'production',
        USER_ADMIN_ACCESS: 'server',
        HOST: '127.0.0.1',
        PORT: String(port),
        PUBLIC_URL: `http://127.0.0.1:${port}`,
        METRICS_PORT: String(metricsPort),
        JWT_SECRET,
        ADMIN_API_KEY: ADMIN_KEY,
        RATE_LIMIT_MESSAGES: '0',
        RATE_LIMIT_REQUESTS: '0',
        RATE_LIMIT_TOKENS: '0',
        SHUTDOWN_DELAY_SECONDS: '0',
        LOG_LEVEL: 'error',
        ...variables,
      },
    },
  )
  const metric = async (name: string) => {
    const all = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text()
    return Number(new RegExp(`^${name} (\\S+)`, 'm').exec(all)?.[1])
  }
  const url = `http://127.0.0.1:${port}`
  // One with worker processes serves the metrics of all of them last.
  for (const needed of [`${url}/health`, `http://127.0.0.1:${metricsPort}/metrics`]) {
    while (!(await fetch(needed).catch(() => undefined))?.ok) {
      if (child.exitCode !== null) throw new Error(`the server exited with ${child.exitCode}`)
      await pause(50)
    }
  }
  return {
    url,
    cpuSeconds: () => metric('process_cpu_seconds_total'),
    rss: () => metric('process_resident_memory_bytes'),
    /** Ends it without any notice, like a failure of the machine. */
    kill: () => child.kill('SIGKILL'),
    stop: async () => {
      if (child.exitCode !== null || child.signalCode !== null) return
      child.kill('SIGTERM')
      await once(child, 'exit')
    },
  }
}

export const pause = (milliseconds: number) =>
  new Promise((resolve) => setTimeout(resolve, milliseconds))

export const median = (values: number[]) =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0
