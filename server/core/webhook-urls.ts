import { hostAndPortOf, hostOf, isIpAddress, isPlainHttpUrl, isPublicAddress } from './addresses.ts'

export type WebhookUrlOptions = {
  /** `host:port` that are trusted, whatever their address and scheme. */
  allowedHosts: readonly string[]
  mustBeHttps: boolean
}

/**
 * Says what is wrong with a webhook's URL, as far as the URL tells. The addresses of its host are
 * checked at each delivery: they may change.
 */
export const createWebhookUrlCheck = ({ allowedHosts, mustBeHttps }: WebhookUrlOptions) => {
  const allowed = new Set(allowedHosts)
  return (address: string) => {
    const url = new URL(address)
    if (url.username !== '' || url.password !== '') return 'expected a URL without credentials'
    if (allowed.has(hostAndPortOf(url))) return undefined
    if (mustBeHttps && url.protocol !== 'https:') return orAllowed('expected an https URL')
    if (!isPlainHttpUrl(url)) return orAllowed('expected the default port')
    const host = hostOf(url)
    const isPublic = isIpAddress(host) ? isPublicAddress(host) : !isPrivateName(host)
    return isPublic ? undefined : orAllowed('expected a public address')
  }
}

const orAllowed = (expected: string) =>
  `${expected}, or a host:port that WEBHOOK_ALLOW_HOSTS of the server names`

/** Names that are never in the public DNS, with or without the dot at their end. */
const isPrivateName = (host: string) =>
  /(^|\.)(localhost|local|internal|home\.arpa)\.?$/.test(host) || /^[^.]+\.?$/.test(host)
