import ipaddr from 'ipaddr.js'

/**
 * Whether an IP address, in any spelling, is on the public internet. Previews and webhooks go there
 * only.
 */
export function isPublicAddress(address: string) {
  if (!ipaddr.isValid(address)) return false
  const parsed = ipaddr.parse(address)
  if (parsed.range() !== 'unicast') return false
  // Nothing outside 2000::/3 is assigned, but much of it is translated to other networks:
  // IPv4-compatible, local NAT64 and site-local addresses.
  return parsed instanceof ipaddr.IPv6
    ? parsed.match(GLOBAL_UNICAST)
    : parsed.toString() !== AZURE_METADATA
}
const GLOBAL_UNICAST = ipaddr.IPv6.parseCIDR('2000::/3')
/** The number is public, but the host of a virtual machine answers there. */
const AZURE_METADATA = '168.63.129.16'

/**
 * The network that an address counts for: of IPv6 the 64 bits that its owner has, since each host
 * in them chooses addresses at will. An IPv4 address is the same in both spellings, and with a
 * port.
 */
export function networkOf(given: string) {
  if (!given.includes(':')) return given
  const address = withoutPort(given)
  if (!ipaddr.isValid(address)) return address
  const parsed = ipaddr.process(address)
  if (!(parsed instanceof ipaddr.IPv6)) return parsed.toString()
  return parsed.parts
    .slice(0, 4)
    .map((part) => part.toString(16))
    .join(':')
}

/** Some proxies add the port, which is another one for each connection: `[2001:db8::1]:50123`. */
const withoutPort = (address: string) =>
  /^(?:([\d.]+)|\[(.+)\]):\d+$/.exec(address)?.slice(1).find(Boolean) ?? address

/** Whether a URL is http(s) on the default port, without credentials. Others are refused. */
export const isPlainHttpUrl = ({ protocol, port, username, password }: URL) =>
  (protocol === 'http:' || protocol === 'https:') &&
  port === '' &&
  username === '' &&
  password === ''

/** The host of a URL, an IPv6 address without its brackets. */
export const hostOf = ({ hostname }: URL) => hostname.replace(/^\[(.*)\]$/, '$1')

export const isIpAddress = (host: string) => ipaddr.isValid(host)

/** `host:port`, with the scheme's default port if the URL names none. */
export const hostAndPortOf = ({ protocol, hostname, port }: URL) =>
  `${hostname}:${port || (protocol === 'https:' ? 443 : 80)}`
