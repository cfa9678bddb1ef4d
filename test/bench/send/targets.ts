import { fork } from 'node:child_process'
import { once } from 'node:events'

const TEXT = 'The soup is ready, who is hungry? There is bread with it, and cheese.'

/** A whole request, to be written to a socket as it is. */
export function requestOf(path: string, token = '') {
  const body = JSON.stringify({ text: TEXT })
  const lines = [
    `POST ${path} HTTP/1.1`,
    'host: 127.0.0.1',
    'content-type: application/json',
    ...(token === '' ? [] : [`authorization: Bearer ${token}`]),
    `content-length: ${Buffer.byteLength(body)}`,
  ]
  return `${lines.join('\r\n')}\r\n\r\n${body}`
}

/** Starts the hand-written routes in a process of their own. */
export async function startRoutes(databaseUrl: string) {
  const child = fork(new URL('./routes.ts', import.meta.url), [databaseUrl])
  const [{ url }] = (await once(child, 'message')) as [{ url: string }] // its first message
  return {
    url,
    cpuSeconds: async () => {
      child.send('cpu')
      const [{ cpu }] = (await once(child, 'message')) as [{ cpu: NodeJS.CpuUsage }] // its answer
      return (cpu.user + cpu.system) / 1e6
    },
    stop: () => child.disconnect(),
  }
}
