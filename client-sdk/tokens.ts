import { ChatError } from './error.ts'
import { backoff } from './timing.ts'
import type { TokenResult } from './types.ts'

/** Answers with what `POST /tokens` gave the application's backend; called again before it expires. */
export type TokenProvider = () => Promise<TokenResult> | TokenResult

/** A token this young that is refused will not get better by asking again. */
const YOUNG_MS = 10_000
/** So long the provider may take. */
const PATIENCE_MS = 30_000

/**
 * The only credential of a client. The provider is asked by one at a time, ahead of expiry, at most once for a token that
 * was refused, and ever more rarely while it fails, whatever the number of calls that wait for a token.
 */
export class Tokens {
  #known: { result: TokenResult; since: number } | undefined
  #asking: Promise<TokenResult> | undefined
  #failure: { error: ChatError; attempts: number; since: number; restMs: number } | undefined
  #isRenewing = false
  #timer: ReturnType<typeof setTimeout> | undefined

  constructor(
    readonly provider: TokenProvider,
    readonly onResult: (result: TokenResult) => void,
  ) {}

  /** A valid token; rejects at once while the provider is given a rest. */
  async get(): Promise<TokenResult> {
    const { result, since = 0 } = this.#known ?? {}
    return result && ageOf(since) < result.expiresIn * 1000 ? result : this.#ask()
  }

  /** A token was refused: gets another, unless there is one already. False when that is of no use. */
  async renew(refused: { token?: string; wsToken?: string }): Promise<boolean> {
    const { result, since = 0 } = this.#known ?? {}
    const isCurrent =
      result !== undefined && (result.token === refused.token || result.wsToken === refused.wsToken)
    if (!isCurrent) return true
    if (ageOf(since) < YOUNG_MS) return false
    this.#known = undefined
    await this.#ask()
    return true
  }

  /** How long the provider is given a rest, in milliseconds. */
  get restMs() {
    const { since = 0, restMs = 0 } = this.#failure ?? {}
    return Math.max(0, restMs - ageOf(since))
  }

  /** From now on tokens are renewed ahead of expiry; else when one is needed. */
  start() {
    this.#isRenewing = true
    if (this.#known) this.#renewIn(this.#known.result.expiresIn * 800 - ageOf(this.#known.since))
  }

  stop() {
    this.#isRenewing = false
    clearTimeout(this.#timer)
  }

  #ask(): Promise<TokenResult> {
    if (this.#asking) return this.#asking
    if (this.#failure && this.restMs > 0) return Promise.reject(this.#failure.error)
    this.#asking = this.#askProvider().finally(() => {
      this.#asking = undefined
    })
    return this.#asking
  }

  async #askProvider() {
    try {
      const result = check(await inTime(this.provider()))
      this.onResult(result)
      this.#known = { result, since: Date.now() }
      this.#failure = undefined
      this.#renewIn(result.expiresIn * 1000 * (0.8 + Math.random() * 0.1))
      return result
    } catch (cause) {
      const attempts = (this.#failure?.attempts ?? 0) + 1
      const restMs = backoff(attempts, { leastMs: 1_000, mostMs: 60_000 })
      const error = new ChatError('unable to get a token; the token provider failed', {
        code: 'TOKEN_PROVIDER_FAILED',
        retryAfterMs: restMs,
        cause,
      })
      this.#failure = { error, attempts, since: Date.now(), restMs }
      if (this.#known) this.#renewIn(restMs)
      throw error
    }
  }

  #renewIn(ms: number) {
    clearTimeout(this.#timer)
    if (!this.#isRenewing) return
    // Timers count in 32 bits.
    this.#timer = setTimeout(() => void this.#ask().catch(() => {}), Math.min(ms, 2 ** 31 - 1))
    if (typeof this.#timer === 'object') this.#timer.unref?.()
  }
}

/** How long ago something was, by the clock of the device. Once that was set back, nobody knows: for ever. */
const ageOf = (since: number) =>
  Date.now() < since ? Number.POSITIVE_INFINITY : Date.now() - since

async function inTime<T>(answer: Promise<T> | T): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const tooLate = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${PATIENCE_MS} ms`)), PATIENCE_MS)
  })
  return Promise.race([answer, tooLate]).finally(() => clearTimeout(timer))
}

/** What a backend answered may be anything, an error for one. */
function check(result: Partial<TokenResult> | undefined): TokenResult {
  if (
    result?.token &&
    result.wsToken &&
    result.user &&
    result.appId &&
    result.wsUrl &&
    result.expiresIn
  )
    return result as TokenResult // all its fields are there
  throw new Error(`expected a token result, got ${JSON.stringify(result)?.slice(0, 200)}`)
}
