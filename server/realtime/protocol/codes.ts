/** Close codes of the protocol. From 3500 to 3999 the client does not reconnect. */
export const closings = {
  shutdown: { code: 3001, reason: 'shutdown' },
  serverError: { code: 3004, reason: 'internal server error' },
  expired: { code: 3005, reason: 'connection expired' },
  slow: { code: 3008, reason: 'slow' },
  noPong: { code: 3012, reason: 'no pong' },
  tooManyRequests: { code: 3013, reason: 'too many requests' },
  invalidToken: { code: 3500, reason: 'invalid token' },
  badRequest: { code: 3501, reason: 'bad request' },
  stale: { code: 3502, reason: 'stale' },
  /** The client retries with a pause: others of the user's sockets may be gone by then. */
  tooManySockets: { code: 4000, reason: 'too many connections' },
  forced: { code: 3503, reason: 'force disconnect' },
} as const
export type Closing = (typeof closings)[keyof typeof closings]

/** Error replies. The client may retry after a temporary one. */
export const errors = {
  internal: { code: 100, message: 'internal server error', temporary: true },
  permissionDenied: { code: 103, message: 'permission denied' },
  alreadySubscribed: { code: 105, message: 'already subscribed' },
  limitExceeded: { code: 106, message: 'limit exceeded' },
  notAvailable: { code: 108, message: 'not available' },
  tokenExpired: { code: 109, message: 'token expired' },
  tooManyRequests: { code: 111, message: 'too many requests', temporary: true },
  unrecoverablePosition: { code: 112, message: 'unrecoverable position' },
} as const
export type ProtocolError = (typeof errors)[keyof typeof errors]

/** Codes for subscriptions that the server ends. From 2500 on the client resubscribes. */
export const unsubscribes = {
  'no longer allowed': { code: 2000, reason: 'server unsubscribe' },
  'insufficient state': { code: 2500, reason: 'insufficient state' },
} as const
