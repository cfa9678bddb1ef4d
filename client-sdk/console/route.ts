import { useSyncExternalStore } from 'react'

/** The view of the page, from its address: `#/apps/<id>/users?q=ana`. */
export type Route = { path: string[]; query: URLSearchParams }

const subscribe = (listener: () => void) => {
  window.addEventListener('hashchange', listener)
  return () => window.removeEventListener('hashchange', listener)
}

export function useRoute(): Route {
  const hash = useSyncExternalStore(subscribe, () => location.hash)
  const [path = '', query] = hash.replace(/^#\/?/, '').split('?')
  return { path: path.split('/').filter(Boolean).map(decode), query: new URLSearchParams(query) }
}

/** The address of a page of the console. */
export function addressOf(path: readonly string[], query: Record<string, string> = {}) {
  const given = Object.entries(query).filter(([, value]) => value !== '')
  const search = given.length === 0 ? '' : `?${new URLSearchParams(given)}`
  return `#/${path.map(encodeURIComponent).join('/')}${search}`
}

/** Replaces the address: a search that is typed makes no entry of the history for each letter. */
export function replaceAddress(address: string) {
  history.replaceState(null, '', address)
  window.dispatchEvent(new HashChangeEvent('hashchange'))
}

/** A part of an address that somebody has typed may be no valid text. */
function decode(part: string) {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}
