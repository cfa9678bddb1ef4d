import { endpointPath } from '@parley/contract'

/** The server's URL on this machine. A host that means all addresses cannot be connected to. */
export function localUrl(host: string, port: number | string) {
  if (host === '0.0.0.0' || host === '::') return `http://localhost:${port}`
  const isIPv6 = host.includes(':')
  return `http://${isIPv6 ? `[${host}]` : host}:${port}`
}

/** Where clients connect their WebSockets to. */
export const wsUrlOf = (publicUrl: string) => `${publicUrl.replace(/^http/, 'ws')}${endpointPath}`

/** The address of a database, as the log may show it. */
export const withoutPassword = (url: string) => url.replace(/^(\w+:\/\/[^:@/]*):[^@/]*@/, '$1@')
