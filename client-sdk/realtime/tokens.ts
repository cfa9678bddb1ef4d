import { ChatError } from '../calls/error.ts'
import { pause } from '../calls/retry.ts'
import type { TokenResult } from '../generated/types.ts'
import { LONGEST_TIMER_MS, withDeadline } from '../shared/timing.ts'

/** Resolves to what `POST /tokens` gave your backend. Called again before the token expires. */
export type TokenProvider = () => Promise<TokenResult> | TokenResult

/** If a token this new is rejected, a newer one would be too. */
const TOO_NEW_TO_RENEW_MS = 10_000
/** A provider that takes longer has failed. */
const PROVIDER_TIMEOUT_MS = 30_000
/** The part of a token's life after which it is renewed. */
const RENEW_AFTER = 0.8

/**
 * The client's token. However many calls wait for one, the provider is called once at a time: ahead
 * of expiry, once for a token that was rejected, and with backoff while it fails.
 */
export class Tokens {
  #current: { result: TokenResult; since: number } | undefined
  #fetching: Promise<TokenResult> | undefined
  #failure: { error: ChatError; tries: number; since: number } | undefined
  #isRenewing = false
  #timer: ReturnType<typeof setTimeout> | undefined

  constructor(
    readonly provider: TokenProvider,
    readonly onResult: (result: TokenResult) => void,
  ) {}

  /** A valid token; rejects at once while the provider is backed off. */
  async get(): Promise<TokenResult> {
    const { result, since = 0 } = this.#current ?? {}
    return result && ageOf(since) < result.expiresIn * 1000 ? result : this.#fetch()
  }

  /**
   * Replaces a rejected token unless that was done already. False if a new token would not help.
   */
  async renew(rejected: { token?: string; wsToken?: string }): Promise<boolean> {
    const { result, since = 0 } = this.#current ?? {}
    const isCurrent =
      result !== undefined &&
      (result.token === rejected.token || result.wsToken === rejected.wsToken)
    if (!isCurrent) return true
    if (ageOf(since) < TOO_NEW_TO_RENEW_MS) return false
    this.#current = undefined
    await this.#fetch()
    return true
  }

  /** How long the provider is still backed off, in milliseconds. */
  get retryInMs() {
    const { since = 0, error } = this.#failure ?? {}
    return Math.max(0, (error?.retryAfterMs ?? 0) - ageOf(since))
  }

  /** From here on tokens are renewed ahead of expiry; otherwise only when one is needed. */
  begin() {
    this.#isRenewing = true
    if (!this.#current) return
    const { result, since } = this.#current
    this.#renewIn(result.expiresIn * 1000 * RENEW_AFTER - ageOf(since))
  }

  halt() {
    this.#isRenewing = false
    clearTimeout(this.#timer)
  }

  #fetch(): Promise<TokenResult> {
    if (this.#fetching) return this.#fetching
    if (this.#failure && this.retryInMs > 0) return Promise.reject(this.#failure.error)
    this.#fetching = this.#callProvider().finally(() => {
      this.#fetching = undefined
    })
    return this.#fetching
  }

  async #callProvider() {
    try {
      const provided = withDeadline({ timeoutMs: PROVIDER_TIMEOUT_MS }, async () => this.provider())
      const result = assertTokenResult(await provided)
      this.onResult(result)
      this.#current = { result, since: Date.now() }
      this.#failure = undefined
      this.#renewIn(result.expiresIn * 1000 * (RENEW_AFTER + Math.random() * 0.1))
      return result
    } catch (cause) {
      const tries = (this.#failure?.tries ?? 0) + 1
      const error = new ChatError(`no token: ${cause}`, {
        code: 'TOKEN_PROVIDER_FAILED',
        retryAfterMs: pause('tokens', tries),
        cause,
      })
      this.#failure = { error, tries, since: Date.now() }
      if (this.#current) this.#renewIn(this.retryInMs)
      throw error
    }
  }

  #renewIn(ms: number) {
    clearTimeout(this.#timer)
    if (!this.#isRenewing) return
    const renew = () => {
      // Timers drop fractions of a millisecond, and would be early for the end of a pause.
      if (this.retryInMs > 0) this.#renewIn(Math.ceil(this.retryInMs))
      else void this.#fetch().catch(() => {})
    }
    this.#timer = setTimeout(renew, Math.min(ms, LONGEST_TIMER_MS))
    if (typeof this.#timer === 'object') this.#timer.unref?.()
  }
}

/**
 * Milliseconds since a time of the device's clock; infinite if the clock was set back meanwhile.
 */
const ageOf = (since: number) =>
  Date.now() < since ? Number.POSITIVE_INFINITY : Date.now() - since

/** A backend may respond with anything, for example an error object. */
function assertTokenResult(result: Partial<TokenResult> | undefined): TokenResult {
  const { token, wsToken, user, appId, wsUrl, expiresIn } = result ?? {}
  const lasts = Number(expiresIn) > 0
  if (token && wsToken && user && appId && wsUrl && lasts) return result as TokenResult
  const given = Object.keys(Object(result)).slice(0, 10).join(', ')
  throw new Error(`expected a token result, got ${typeof result} with fields ${given || 'none'}`)
}
