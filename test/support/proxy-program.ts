import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { root } from './consumer.ts'

type Upstreams = { listen: number; servers: [number, number] }

/** Real proxies, with the configuration that we ship, and how to ask for their version. */
const programs = {
  haproxy: {
    version: ['-v'],
    args: ['-db', '-f', join(root, 'ops/haproxy.cfg')],
    environment: ({ listen, servers: [one, two] }: Upstreams) => ({
      PARLEY_LISTEN: `127.0.0.1:${listen}`,
      PARLEY_1: `127.0.0.1:${one}`,
      PARLEY_2: `127.0.0.1:${two}`,
    }),
  },
  caddy: {
    version: ['version'],
    args: ['run', '--adapter', 'caddyfile', '--config', join(root, 'ops/Caddyfile')],
    environment: ({ listen, servers: [one, two] }: Upstreams) => ({
      PARLEY_SITE: `http://127.0.0.1:${listen}`,
      PARLEY_1: `127.0.0.1:${one}`,
      PARLEY_2: `127.0.0.1:${two}`,
    }),
  },
}
export type ProxyProgram = keyof typeof programs

export const proxyPrograms = Object.keys(programs) as ProxyProgram[] // the keys of that object

export const hasProgram = (program: string, args: string[]) =>
  spawnSync(program, args, { stdio: 'ignore' }).status === 0

export const isInstalled = (program: ProxyProgram) => hasProgram(program, programs[program].version)

/** Starts it with our configuration. The caller kills it. */
export function startProxy(program: ProxyProgram, upstreams: Upstreams): ChildProcess {
  const { args, environment } = programs[program]
  const { PATH, HOME } = process.env
  return spawn(program, args, {
    env: { PATH, HOME, ...environment(upstreams) },
    stdio: ['ignore', 'ignore', program === 'caddy' ? 'ignore' : 'inherit'],
  })
}
