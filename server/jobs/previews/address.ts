import ipaddr from 'ipaddr.js'

/** Whether an IP address, in any spelling, is one of the public internet: the only kind that previews are fetched from. */
export function isPublic(address: string) {
  if (!ipaddr.isValid(address)) return false
  const parsed = ipaddr.parse(address)
  if (parsed.range() !== 'unicast') return false
  // Outside of 2000::/3 nothing is assigned, but much is translated: IPv4-compatible, local NAT64, site-local.
  return parsed instanceof ipaddr.IPv6
    ? parsed.match(GLOBAL_UNICAST)
    : parsed.toString() !== AZURE_METADATA
}
const GLOBAL_UNICAST = ipaddr.IPv6.parseCIDR('2000::/3')
/** Public by its number, yet answered by the machine's own host. */
const AZURE_METADATA = '168.63.129.16'

/** Whether a URL may be asked for at all, whatever its host resolves to. */
export const isPlain = ({ protocol, port, username, password }: URL) =>
  (protocol === 'http:' || protocol === 'https:') &&
  port === '' &&
  username === '' &&
  password === ''

/** The host of a URL without the brackets of IPv6. */
export const hostOf = ({ hostname }: URL) => hostname.replace(/^\[(.*)\]$/, '$1')

export const isAddress = (host: string) => ipaddr.isValid(host)

/** `host:port`, the port given or that of the scheme. */
export const originOf = ({ protocol, hostname, port }: URL) =>
  `${hostname}:${port || (protocol === 'https:' ? 443 : 80)}`
