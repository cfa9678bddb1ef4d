/** Where Redis is: one server, one that Sentinels name, or a cluster. */
export type RedisTarget = {
  kind: 'single' | 'sentinel' | 'cluster'
  hosts: { host: string; port: number }[]
  isTls: boolean
  username?: string
  password?: string
  /** The number of the database. A cluster has only database 0. */
  database: number
  /** The name of the servers among the Sentinels. */
  masterName: string
}

const PORTS = { single: 6_379, cluster: 6_379, sentinel: 26_379 }
const SHAPE = new RegExp(
  [
    '^redis(?<tls>s)?(?:\\+(?<kind>sentinel|cluster))?://',
    '(?:(?<user>[^@/]*)@)?(?<hosts>[^@/?#]+)',
    '(?:/(?<path>[^/?#]*))?(?:/(?<database>\\d{1,4}))?$',
  ].join(''),
)
const HOST = /^(?<host>\[[0-9a-f:.]+\]|[^:[\]\s]+)(?::(?<port>\d{1,5}))?$/i

/**
 * Reads `redis://user:password@host:port/database`, `redis+cluster://host:port,host:port` or
 * `redis+sentinel://host:port,host:port/name/database`, each with `rediss` for TLS. Undefined if it
 * is none of them. The password is percent-encoded.
 */
export function parseRedisUrl(url: string): RedisTarget | undefined {
  const groups = SHAPE.exec(url)?.groups
  if (!groups) return undefined
  const kind = kindOf(groups.kind)
  const hosts = (groups.hosts ?? '').split(',').map((host) => parseHost(host, PORTS[kind]))
  const { path = '' } = groups
  const database = kind === 'single' ? path : (groups.database ?? '')
  if (!hosts.every((host) => host !== undefined) || !/^\d*$/.test(database)) return undefined
  if (kind === 'single' && (hosts.length > 1 || groups.database !== undefined)) return undefined
  if (kind === 'cluster' && (path !== '' || groups.database !== undefined)) return undefined
  if (kind === 'sentinel' && path === '') return undefined
  const credentials = credentialsOf(groups.user)
  if (!credentials) return undefined
  const target = { kind, hosts, database: Number(database) }
  return { ...target, ...credentials, isTls: groups.tls !== undefined, masterName: path }
}

const kindOf = (kind: string | undefined): RedisTarget['kind'] =>
  kind === 'sentinel' || kind === 'cluster' ? kind : 'single'

function parseHost(text: string, defaultPort: number) {
  const groups = HOST.exec(text)?.groups
  if (!groups?.host) return undefined
  const port = Number(groups.port ?? defaultPort)
  return port <= 65_535 ? { host: groups.host.replace(/^\[|\]$/g, ''), port } : undefined
}

function credentialsOf(user = '') {
  const [name = '', ...rest] = user.split(':')
  try {
    const [username, password] = [decodeURIComponent(name), decodeURIComponent(rest.join(':'))]
    return { ...(username && { username }), ...(password && { password }) }
  } catch {
    return undefined // not percent-encoded
  }
}
