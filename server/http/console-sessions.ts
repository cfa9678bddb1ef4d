import { hkdfSync } from 'node:crypto'
import { parseCookie, type SetCookie, stringifySetCookie } from 'cookie'
import * as joseErrors from 'jose/errors'
import { SignJWT } from 'jose/jwt/sign'
import { jwtVerify } from 'jose/jwt/verify'

const COOKIE = 'parley_console'
const AUDIENCE = 'parley-console'
const ALGORITHM = 'HS256'
const LIFETIME_SECONDS = 12 * 60 * 60

/**
 * Sessions of the console, which end after twelve hours: a signed cookie that scripts cannot read
 * and that browsers send to this site's own pages only. Its key is derived from the admin key, so
 * another admin key ends all sessions.
 */
export function createConsoleSessions(adminKey: string) {
  const key = new Uint8Array(hkdfSync('sha256', adminKey, '', 'parley console session', 32))
  /** The cookie of a new session, for a `Set-Cookie` header. */
  const begin = async (isSecure: boolean) => {
    const token = await new SignJWT()
      .setProtectedHeader({ alg: ALGORITHM })
      .setAudience(AUDIENCE)
      .setIssuedAt()
      .setExpirationTime(`${LIFETIME_SECONDS}s`)
      .sign(key)
    return cookieWith({ value: token, maxAge: LIFETIME_SECONDS, secure: isSecure })
  }
  const isValid = async (cookieHeader: string | undefined) => {
    const { [COOKIE]: token } = parseCookie(cookieHeader ?? '')
    if (token === undefined) return false
    try {
      await jwtVerify(token, key, { audience: AUDIENCE, algorithms: [ALGORITHM] })
      return true
    } catch (error) {
      if (error instanceof joseErrors.JOSEError) return false
      throw error
    }
  }
  return { begin, isValid }
}

/** Makes the browser forget its session. */
export const noSessionCookie = () => cookieWith({ value: '', maxAge: 0 })

/**
 * Without a path, so that browsers send it below the path of /console/session only: also where a
 * proxy puts a path before it, and other applications have the rest of the site.
 */
const cookieWith = (given: Pick<SetCookie, 'value' | 'maxAge' | 'secure'>) =>
  stringifySetCookie({
    ...given,
    name: COOKIE,
    httpOnly: true,
    sameSite: 'strict',
  })
