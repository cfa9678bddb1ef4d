import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './consumer.ts'

type Upstreams = {
  listen: number
  servers: [number, number]
  /** Where a proxy may keep files. */
  folder: string
}

/** The arguments with which nginx takes a file for its http block, and makes files in `folder`. */
export function nginxArguments(folder: string, file = join(root, 'ops/nginx.conf')) {
  // It makes its folders even for a check, by default where only root may.
  const folders = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
  const http = [
    'access_log off;',
    ...folders.map((name) => `${name}_temp_path ${join(folder, name)};`),
    `include ${file};`,
  ]
  const config = join(folder, 'nginx.conf')
  writeFileSync(config, `events {}\nhttp {\n${http.join('\n')}\n}\n`)
  // In one process, which ends when it is killed.
  const settings = ['daemon off', 'master_process off', 'error_log stderr crit']
  return ['-c', config, '-g', `${settings.join('; ')}; pid ${join(folder, 'pid')};`]
}

/** Its file has no variables. */
function nginxOn({ listen, servers: [one, two], folder }: Upstreams) {
  const file = join(folder, 'site.conf')
  const text = readFileSync(join(root, 'ops/nginx.conf'), 'utf8')
    .replace('listen 8080;', `listen 127.0.0.1:${listen};`)
    .replace('127.0.0.1:5501', `127.0.0.1:${one}`)
    .replace('127.0.0.1:5502', `127.0.0.1:${two}`)
  writeFileSync(file, text)
  return nginxArguments(folder, file)
}

/** Real proxies, with the configuration that we ship, and how to ask for their version. */
const programs = {
  haproxy: {
    version: ['-v'],
    args: () => ['-db', '-f', join(root, 'ops/haproxy.cfg')],
    environment: ({ listen, servers: [one, two] }: Upstreams) => ({
      PARLEY_LISTEN: `127.0.0.1:${listen}`,
      PARLEY_1: `127.0.0.1:${one}`,
      PARLEY_2: `127.0.0.1:${two}`,
    }),
  },
  caddy: {
    version: ['version'],
    args: () => ['run', '--adapter', 'caddyfile', '--config', join(root, 'ops/Caddyfile')],
    environment: ({ listen, servers: [one, two] }: Upstreams) => ({
      PARLEY_SITE: `http://127.0.0.1:${listen}`,
      PARLEY_1: `127.0.0.1:${one}`,
      PARLEY_2: `127.0.0.1:${two}`,
    }),
  },
  nginx: { version: ['-v'], args: nginxOn, environment: () => ({}) },
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
  return spawn(program, args(upstreams), {
    env: { PATH, HOME, ...environment(upstreams) },
    stdio: ['ignore', 'ignore', program === 'caddy' ? 'ignore' : 'inherit'],
  })
}
