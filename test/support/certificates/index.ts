import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

type File = 'ca.crt' | 'server.crt' | 'server.key'

/** A private CA, and a certificate for localhost that it has signed. Valid until 2120. */
export const certificates = {
  path: (file: File) => fileURLToPath(new URL(file, import.meta.url)),
  read: (file: File) => readFileSync(new URL(file, import.meta.url), 'utf8'),
}
