import { ChatError, createApi } from '@parley/client/api'

/** Where the console lies, also below a path of a proxy: `https://chat.example.com/console`. */
const consoleUrl = new URL('.', location.href).href.replace(/\/$/, '')

/** The operator's operations, with the session's cookie. */
export const api = createApi({ url: consoleUrl })

/** The API with a path of its own, for links to what it serves. */
export const serverUrl = consoleUrl.replace(/\/console$/, '')

export const signIn = (adminKey: string) => sendSession('POST', { adminKey })
export const signOut = () => sendSession('DELETE')

async function sendSession(method: 'POST' | 'DELETE', body?: object) {
  const response = await fetch(`${consoleUrl}/session`, {
    method,
    ...(body && {
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    }),
  }).catch((cause: unknown) => {
    throw new ChatError('The server cannot be reached.', { code: 'NETWORK_ERROR', cause })
  })
  if (response.ok) return
  const { status } = response
  const { error } = await response.json().catch(() => ({ error: {} }))
  throw new ChatError(error.message ?? `The server answered ${status}.`, {
    code: error.code ?? 'INTERNAL_ERROR',
    status,
  })
}
