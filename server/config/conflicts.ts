type Given = Record<string, string | undefined>

export const DEFAULT_PORT = 5501
export const DEFAULT_METRICS_HOST = '127.0.0.1'
/** In production other machines call, elsewhere only this one. */
export const defaultHost = (isProduction: boolean) => (isProduction ? '0.0.0.0' : '127.0.0.1')

/**
 * Finds settings that need others or rule them out. It looks at what was given, valid or not, so
 * that a start reports all problems at once.
 */
export function conflictsOf(given: Given): string[] {
  const has = (name: string) => given[name] !== undefined || given[`${name}_FILE`] !== undefined
  const isProduction = given.NODE_ENV === 'production'
  const conflicts: [boolean, string][] = [
    [isProduction && !has('JWT_SECRET'), 'JWT_SECRET: required with NODE_ENV=production'],
    [isProduction && !has('DATABASE_URL') && !has('EMBEDDED_DATABASE'), NO_DATABASE],
    [
      has('DATABASE_SCHEMA') && !has('DATABASE_URL'),
      'DATABASE_SCHEMA: expected with DATABASE_URL only',
    ],
    [isProduction && has('DEMO_APP'), 'DEMO_APP: expected without NODE_ENV=production'],
    [
      hasOnePort(given, isProduction),
      `METRICS_PORT: expected another port than PORT, ${given.METRICS_PORT} given for both`,
    ],
  ]
  return conflicts.flatMap(([isSo, problem]) => (isSo ? [problem] : []))
}

const NO_DATABASE =
  'DATABASE_URL: required with NODE_ENV=production. EMBEDDED_DATABASE=yes insists on the ' +
  'embedded PostgreSQL, which is meant for development'

/** Whether one would take the port of the other. Port 0 is any free one. */
function hasOnePort(given: Given, isProduction: boolean) {
  const { PORT = DEFAULT_PORT, METRICS_PORT, HOST = defaultHost(isProduction) } = given
  const { METRICS_HOST = DEFAULT_METRICS_HOST } = given
  const isOne = METRICS_PORT !== undefined && Number(METRICS_PORT) === Number(PORT)
  return isOne && Number(PORT) !== 0 && overlaps(HOST, METRICS_HOST)
}

const ALL_ADDRESSES = ['0.0.0.0', '::']
const LOOPBACK = ['127.0.0.1', '::1']

function overlaps(...hosts: [string, string]) {
  const [one, other] = hosts
  if (one === other || hosts.some((host) => ALL_ADDRESSES.includes(host))) return true
  return hosts.includes('localhost') && hosts.some((host) => LOOPBACK.includes(host))
}
