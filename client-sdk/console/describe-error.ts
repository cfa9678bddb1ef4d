import { isChatError } from '@parley/client/api'

/** How the client says that another program has answered. Here it is a proxy, at the right url. */
const OF_PROXY = /^answered (5\d\d), but not by Parley/

/** The text and the code of an error, to show them to operators. */
export function describeError(error: unknown) {
  if (!isChatError(error)) return { text: String(error), code: 'ERROR' }
  const [, status] = OF_PROXY.exec(error.message) ?? []
  const text =
    status === undefined
      ? error.message
      : `The proxy answered ${status}: it found no server that works. Its own log says more.`
  return { text, code: error.code }
}
