const HIDDEN = '(hidden)'
/** The names of fields that give access to something. */
const SECRET = /token|secret|api-?key|authorization|password|inviteurl/i
/** A JSON Web Token, wherever it stands. */
const JWT = /eyJ[\w-]+\.[\w-]+\.[\w-]*/g
/** The token in the path of an invite. */
const INVITE = /(\/invites\/)[^/?]+(\/accept)/g

/** A text without tokens. */
export const withoutTokens = (text: string) =>
  text.replace(JWT, HIDDEN).replace(INVITE, `$1${HIDDEN}$2`)

/** A copy of parsed JSON without tokens and other secrets. */
export function withoutSecrets(value: unknown): unknown {
  if (typeof value === 'string') return withoutTokens(value)
  if (Array.isArray(value)) return value.map(withoutSecrets)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [
      name,
      SECRET.test(name) && typeof inner === 'string' ? HIDDEN : withoutSecrets(inner),
    ]),
  )
}

/** Parsed JSON without secrets, or the text if it is none. */
export function toPayload(text: string): unknown {
  try {
    return withoutSecrets(JSON.parse(text))
  } catch {
    return withoutTokens(text)
  }
}
