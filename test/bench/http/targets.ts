import { fork } from 'node:child_process'
import { once } from 'node:events'

type Post = { body?: object; token?: string | undefined }

/** A whole request, to be written to a socket as it is. */
export const post = (path: string, { body = {}, token }: Post = {}) =>
  requestOf(`POST ${path}`, { token, body: JSON.stringify(body) })
export const get = (path: string, token?: string) => requestOf(`GET ${path}`, { token, body: '' })

function requestOf(line: string, { token, body }: { token: string | undefined; body: string }) {
  const lines = [
    `${line} HTTP/1.1`,
    'host: 127.0.0.1',
    ...(token === undefined ? [] : [`authorization: Bearer ${token}`]),
    ...(body === ''
      ? []
      : ['content-type: application/json', `content-length: ${Buffer.byteLength(body)}`]),
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
