import { readFileSync } from 'node:fs'
import tls from 'node:tls'
import { fileURLToPath } from 'node:url'

type File = 'ca.crt' | 'server.crt' | 'server.key'

/** A private CA, and a certificate for localhost that it has signed. Valid until 2120. */
export const certificates = {
  path: (file: File) => fileURLToPath(new URL(file, import.meta.url)),
  read: (file: File) => readFileSync(new URL(file, import.meta.url), 'utf8'),
}

/**
 * Trusts the private CA, and no other, until the function that it returns is called: a process
 * reads `NODE_EXTRA_CA_CERTS` only when it starts.
 */
export function trustOwnCa() {
  const { createSecureContext } = tls
  const ca = certificates.read('ca.crt')
  tls.createSecureContext = (options) => createSecureContext({ ca, ...options })
  return () => {
    tls.createSecureContext = createSecureContext
  }
}
