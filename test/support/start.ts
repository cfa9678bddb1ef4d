import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { afterEach, inject, vi } from 'vitest'
import { patient } from './until.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** The folder of the bundled programs: `parley.mjs` and so on. */
    programs: string
  }
}

/** Finds the address that a program prints: for people, or in the log of production. */
export const baseUrl = /(?:^Base URL: +|"baseUrl":")([^"\s]+)/m

export const production = {
  NODE_ENV: 'production',
  HOST: '127.0.0.1',
  JWT_SECRET: 'the secret of these tests, 32 bytes or more',
  ADMIN_API_KEY: 'the-admin-key-of-these-tests',
  SHUTDOWN_DELAY_SECONDS: '0',
}

/** Starts programs, and kills those that still run after each test. */
export function useChildren() {
  const children: ChildProcess[] = []
  afterEach(() => {
    for (const child of children.splice(0)) child.kill('SIGKILL')
  })
  return {
    adopt: (child: ChildProcess) => void children.push(child),
    start: (...given: Parameters<typeof start>) => {
      const server = start(...given)
      children.push(server.child)
      return server
    },
  }
}

/** The arguments with which Node.js runs a command of `parley`, as it was bundled for this run. */
export const bundled = (...command: string[]) => [
  join(inject('programs'), 'parley.mjs'),
  ...command,
]

/**
 * Runs the program of `npm start`, another command, or Node.js with other arguments, in a directory
 * and an environment of its own. The caller ends it; `useChildren` does so after each test.
 */
export function start(
  variables: Record<string, string>,
  cwd: string,
  command: string | string[] = 'start',
) {
  const environment = { PATH: process.env.PATH, PORT: '0', ...variables }
  const args = typeof command === 'string' ? bundled(command) : command
  const child = spawn(process.execPath, args, { cwd, env: environment })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (data) => (output += data))
  const code = new Promise<number | null>((resolve) => child.on('close', resolve))
  const matched = (pattern: RegExp) =>
    vi.waitFor(() => pattern.exec(output)?.[1] ?? Promise.reject(new Error(output)), patient)
  const value = (name: string) => matched(new RegExp(`^${name}: +(\\S+)$`, 'm'))
  return {
    child,
    code,
    value,
    url: () => matched(baseUrl),
    /** The address it listens on, from its log. */
    address: () => matched(/"Server listening at (\S+?)"/),
    output: () => output,
    /** The output as people read it: of log lines, only the message. */
    said: () => output.replace(/^\{.*\}$/gm, said),
    kill: (signal: NodeJS.Signals) => child.kill(signal),
  }
}

function said(line: string) {
  const { level, msg } = JSON.parse(line)
  return level === 'warn' ? `Warning: ${msg}` : msg
}

/** Rejects while a server listens there. */
export const isRefused = (url: string) =>
  new Promise<void>((resolve, reject) => {
    const { hostname, port } = new URL(url)
    const socket = connect(Number(port), hostname, () => {
      socket.destroy()
      reject(new Error('still listening'))
    }).on('error', () => resolve())
  })

/** Whether the embedded PostgreSQL of a server has ended. */
export const hasEnded = (dataDir: string) => !existsSync(join(dataDir, 'postgres/postmaster.pid'))
