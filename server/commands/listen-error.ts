import type { ListenAddress } from '../http/listen.ts'
import { errorMessage } from '../process/lifecycle.ts'

/** `prefix` is that of the variables that name the address. */
export type NamedAddress = ListenAddress & { prefix?: string }

/** Throws an error of listening again, with the variable to set: PORT or HOST, or METRICS_PORT. */
export const listenError =
  ({ port, host, prefix = '' }: NamedAddress) =>
  (error: unknown): never => {
    const code = error instanceof Error && 'code' in error ? String(error.code) : ''
    const problem = problems[code]
    if (!problem)
      throw new Error(
        `${prefix}HOST, ${prefix}PORT: cannot listen at ${host}, ${port}: ${errorMessage(error)}`,
      )
    const { variable, text } = problem
    throw new Error(`${prefix}${variable}: ${text(variable === 'PORT' ? port : host)} (${code})`)
  }

const notHere = {
  variable: 'HOST',
  text: (host: number | string) => `${host} is no address of this machine`,
}
const problems: Record<string, { variable: string; text: (value: number | string) => string }> = {
  EADDRINUSE: {
    variable: 'PORT',
    text: (port) => `another program listens on ${port}. Set a free one, or 0 for any`,
  },
  EACCES: {
    variable: 'PORT',
    text: (port) => `${port} is for privileged users. Set one above 1023`,
  },
  EADDRNOTAVAIL: notHere,
  EAFNOSUPPORT: notHere,
  EINVAL: notHere,
  ENOTFOUND: notHere,
  EAI_AGAIN: notHere,
}
