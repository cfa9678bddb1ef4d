import type { OutboxOperation } from '../backing-store/storage.ts'
import { ChatError, toChatError } from '../calls/error.ts'
import { pause, schedule } from '../calls/retry.ts'
import { BATCH_MESSAGES } from '../generated/limits.ts'
import { isDeviceOffline } from '../shared/platform.ts'
import { isOutgoing, lineOf, type OutboxEntry, referencesTo } from './entry.ts'
import { isDoneAlready, isTemporary, mayHaveEffect, perform } from './perform.ts'
import type { SenderOptions, SendLoop } from './send-loop.ts'

/** An operation that the server failed at this often would stop those behind it for ever. */
const MAX_SERVER_FAILURES = 10
/** How many characters of JSON a batch of messages has at most. */
const BATCH_LENGTH = 250_000

/**
 * Sends the operations of the outbox: those of a line one after another, with pauses that grow
 * while they fail, and messages that wait together in one call.
 */
export class Sender {
  readonly #loops = new Map<string, SendLoop>()
  #isRunning = false
  /** Whether the connection was lost: requests that have begun may be, too. */
  #isLost = false
  #abort = new AbortController()

  constructor(readonly options: SenderOptions) {
    options.link.onOffline(() => {
      this.#isLost = true
    })
  }

  /** Sends what there is, at once: ends all pauses, and requests that may never be answered. */
  flush() {
    this.#endPauses()
    const queued = [...this.options.queued()]
    if (this.#isLost) {
      for (const entry of queued) entry.wasTried ||= entry.isSending
      this.#abortRequests()
    }
    this.#isRunning = true
    for (const { op } of queued) this.run(op)
  }

  /** Another tab may send from now on, and try what this one has not. */
  pause() {
    const { storage, queued } = this.options
    this.#isRunning = false
    this.#endPauses()
    for (const entry of queued()) entry.wasTried ||= storage.sharedAs !== undefined
  }

  /** Sends nothing more, not even what waits for a token: that may be of another app. */
  halt() {
    this.pause()
    this.#loops.clear()
    this.#abortRequests()
  }

  #abortRequests() {
    this.#isLost = false
    this.#abort.abort()
    this.#abort = new AbortController()
  }

  #endPauses() {
    for (const [line, { cancel }] of this.#loops) {
      // A loop that waits for a response goes on, or ends, by itself.
      if (!cancel) continue
      cancel()
      this.#loops.delete(line)
      this.options.onChanged(line)
    }
  }

  run(op: OutboxOperation) {
    const line = lineOf(op)
    if (this.#isRunning && !this.#loops.has(line)) void this.#run(line)
  }

  async #run(line: string) {
    const loop: SendLoop = { line, tries: 0 }
    this.#loops.set(line, loop)
    const isCurrent = () => this.#loops.get(line) === loop
    while (isCurrent() && this.#isRunning) {
      const next = this.#next(loop)
      if (next.length === 0) break
      const delayMs = await this.#attempt(next, loop)
      if (delayMs === undefined) loop.tries = 0
      else if (this.#isRunning) await this.#wait(loop, delayMs)
    }
    if (isCurrent()) this.#loops.delete(line)
  }

  /** The next operation of a line, or the next messages, which go together. */
  #next(loop: SendLoop): OutboxEntry[] {
    const next: OutboxEntry[] = []
    let length = 0
    const seen = new Set<OutboxEntry>()
    // One after another, as they are now: preparing one may end others.
    const following = () =>
      [...this.options.queued()].find(
        (each) => !each.error && !seen.has(each) && lineOf(each.op) === loop.line,
      )
    for (let entry = following(); entry; entry = following()) {
      seen.add(entry)
      if (next.length > 0 && !this.#mayFollow(next, entry, loop)) break
      if (!this.options.prepare(entry)) continue
      length += JSON.stringify(entry.op).length
      if (next.length === BATCH_MESSAGES || (next.length > 0 && length > BATCH_LENGTH)) break
      next.push(entry)
      if (!isOutgoing(entry)) break
    }
    return next
  }

  /**
   * A message that the server has failed at is tried alone, so that only it is given up; and a
   * reply or quote waits for the id of its message.
   */
  #mayFollow(next: OutboxEntry[], entry: OutboxEntry, { isSingle }: SendLoop) {
    const keepsApart = ({ op, serverFailures }: OutboxEntry) =>
      serverFailures > 0 || referencesTo(op.clientId, entry.op).length > 0
    return isOutgoing(entry) && !isSingle && ![...next, entry].some(keepsApart)
  }

  async #wait(loop: SendLoop, delayMs: number) {
    const { gate } = this.options
    const { answers } = gate
    await new Promise<void>((resolve) => {
      loop.cancel = schedule(resolve, delayMs, loop.error)
    })
    loop.cancel = undefined
    loop.isConnected = gate.answers > answers
  }

  /** Resolves to the delay before the next attempt; undefined if there is nothing to repeat. */
  async #attempt(entries: OutboxEntry[], loop: SendLoop): Promise<number | undefined> {
    loop.tries += 1
    // Some devices say wrongly that they are offline, behind a VPN for example.
    if (isDeviceOffline() && !this.options.link.isConnected) {
      const error = new ChatError('the device is offline', { code: 'NETWORK_ERROR' })
      return this.#delay(error, loop)
    }
    this.#setWaiting(loop)
    for (const entry of entries) {
      entry.isSending = true
      this.options.onStep({ kind: 'started', op: entry.op })
    }
    const { signal } = this.#abort
    const outcomes = await perform(this.options.api, entries, { signal }).catch(toChatError)
    for (const entry of entries) entry.isSending = false
    if (signal.aborted) return undefined
    if (!(outcomes instanceof ChatError) || entries.length === 1)
      return this.#handle(entries, [outcomes].flat(), loop)
    // Which of the messages is to blame shows when they are sent one by one.
    const isCauseUnknown = !isTemporary(outcomes) || this.#isFault(outcomes, loop)
    if (isCauseUnknown) loop.isSingle = true
    for (const entry of entries) entry.wasTried ||= mayHaveEffect(outcomes)
    return isCauseUnknown ? undefined : this.#delay(outcomes, loop)
  }

  #handle(entries: OutboxEntry[], outcomes: unknown[], loop: SendLoop) {
    let delayMs: number | undefined
    for (const [index, entry] of entries.entries()) {
      const outcome = outcomes[index]
      // A call with several messages is answered although the limit refuses some of them.
      if (entries.length > 1) this.options.gate.takeResult('messages', outcome)
      if (!(outcome instanceof ChatError)) this.options.onDone(entry, outcome)
      else if (isDoneAlready(entry.op, outcome, entry.wasTried))
        this.options.onDone(entry, { success: true })
      else if (!this.#mayPass(entry, outcome, loop)) this.options.onRefused(entry, outcome)
      else {
        entry.wasTried ||= mayHaveEffect(outcome)
        delayMs = Math.max(delayMs ?? 0, this.#delay(outcome, loop))
      }
    }
    return delayMs
  }

  #delay(error: ChatError, loop: SendLoop) {
    loop.error = error
    const delayMs = pause('background', loop.tries, error.retryAfterMs)
    const until = new Date(Date.now() + delayMs).toISOString()
    if (this.#isRunning) this.#setWaiting(loop, { until, error })
    return delayMs
  }

  /** Whether to try again: not for ever, if it is this one that the server cannot carry out. */
  #mayPass(entry: OutboxEntry, error: ChatError, loop: SendLoop) {
    if (this.#isFault(error, loop)) entry.serverFailures += 1
    return isTemporary(error) && entry.serverFailures < MAX_SERVER_FAILURES
  }

  /** Whether the operation is to blame, since the server works otherwise. */
  #isFault({ status, retryAfterMs }: ChatError, { isConnected }: SendLoop) {
    // It is not if a token is missing, calls are too many, or the server refuses work in general.
    if (status > 0) return ![401, 429, 503].includes(status) && this.options.link.isConnected
    // An error for lack of a network or a token carries `retryAfterMs`: it is no fault of the
    // operation.
    return isConnected && !retryAfterMs
  }

  /** Why the operations of a line wait, and until when. */
  waitingOf(line: string) {
    return this.#loops.get(line)?.waiting
  }

  #setWaiting(loop: SendLoop, waiting?: SendLoop['waiting']) {
    if (loop.waiting === waiting) return
    loop.waiting = waiting
    // The line of a channel's messages has its id.
    this.options.onChanged(loop.line)
  }
}
