import { errorMessage } from '../process/lifecycle.ts'

const PLACE = 'the host and port in DATABASE_URL'
const LOGIN = 'the user and password in DATABASE_URL'
const HOST = 'the host in DATABASE_URL'
const PARAMETERS = 'the parameters after ? in DATABASE_URL'
const CA = 'sslrootcert in DATABASE_URL: it names the file with the CA of the server'

const NO_CONNECTION = '53300'

/** Advice by the code of the system's or of PostgreSQL's error. */
const hints: Record<string, string> = {
  ECONNREFUSED: PLACE,
  ETIMEDOUT: PLACE,
  EHOSTUNREACH: PLACE,
  CONNECT_TIMEOUT: PLACE,
  ENOENT: 'the socket directory in DATABASE_URL',
  ENOTFOUND: HOST,
  EAI_AGAIN: HOST,
  '28P01': LOGIN,
  '28000': LOGIN,
  '42501': 'the rights of this role: `parley grant` as the owner gives it those of servers',
  '22023': PARAMETERS,
  '42704': PARAMETERS,
  '55P02': PARAMETERS,
  [NO_CONNECTION]: 'the connection limit of the role and of the database, and max_connections',
  '3D000': 'the name of the database in DATABASE_URL',
  SELF_SIGNED_CERT_IN_CHAIN: CA,
  DEPTH_ZERO_SELF_SIGNED_CERT: CA,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: CA,
  UNABLE_TO_GET_ISSUER_CERT: CA,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: CA,
  ERR_TLS_CERT_ALTNAME_INVALID: HOST,
}

/** Messages about a connection whose other side has no TLS, or demands it. */
const ofTls: [RegExp, string][] = [
  [/, no encryption$/, 'sslmode in DATABASE_URL: the server may want TLS, sslmode=require'],
  [
    /before secure TLS connection was established$/,
    'sslmode in DATABASE_URL: the server may have no TLS, sslmode=disable',
  ],
]

/** Why the database cannot be used, in one line. */
export function databaseError(error: unknown) {
  return new Error(`The database cannot be used: ${messageWithHint(error)}`)
}

/** A process may use up the connections late in its start. Throws the error that says so. */
export function throwLate(error: unknown): never {
  throw codeOf(error) === NO_CONNECTION ? databaseError(error) : error
}

/** The message of an error of the database, with what to look at. */
export function messageWithHint(error: unknown) {
  const message = errorMessage(error)
  const [, tlsHint] = ofTls.find(([text]) => text.test(message)) ?? []
  const hint = tlsHint ?? hints[codeOf(error)]
  return hint === undefined ? message : `${message}. Check ${hint}`
}

function codeOf(error: unknown): string {
  if (error instanceof AggregateError && error.message === '') return codeOf(error.errors[0])
  return error instanceof Error && 'code' in error ? String(error.code) : ''
}
