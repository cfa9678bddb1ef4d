import type { Call, Check, Fault } from '../history.ts'

const LONGEST_CALL_MS = 10_000
/** Callers notice a connection that a fault broke only at their next call. */
const NOTICED_MS = 1_000

/** An error of the server is a 503 that says when to come again. */
export const answeredOr503: Check = ({ calls }) =>
  calls
    .filter(({ status = 0, hasRetryAfter }) => status >= 500 && !(status === 503 && hasRetryAfter))
    .map((call) => `${nameOf(call)} was answered with ${call.status}, without Retry-After`)

/** A call is refused with 503 only while something is wrong, or was a moment before. */
export const servedAfterFaults: Check = ({ calls, faults, returnWithinMs }) =>
  calls
    .filter(({ status }) => status === 503)
    .filter(
      ({ startedAt, endedAt }) =>
        !faults.some(({ from, to }) => endedAt >= from && startedAt <= to + returnWithinMs),
    )
    .map((call) => `${nameOf(call)} was refused, long after the last fault`)

/** No call takes longer than 10 s, unless its node was stopped or the way to it was broken. */
export const answeredInTime: Check = ({ calls, faults }) =>
  calls
    .filter((call) => call.endedAt - call.startedAt > LONGEST_CALL_MS && !isBroken(call, faults))
    .map((call) => `${nameOf(call)} took ${Math.round(call.endedAt - call.startedAt)} ms`)

/** Every call is answered, unless its node was stopped or the way to it was broken. */
export const answeredUnlessBroken: Check = ({ calls, faults }) =>
  calls
    .filter((call) => call.status === undefined && !isBroken(call, faults))
    .map((call) => `${nameOf(call)} was not answered, although nothing broke its way`)

/** No call was refused for good. */
export const nothingRefused: Check = ({ refusals }) =>
  refusals.map(({ name, code }) => `${name} was refused: ${code}`)

const isBroken = ({ node, startedAt, endedAt }: Call, faults: Fault[]) =>
  faults.some(
    (fault) =>
      fault.breaksAnswers &&
      (fault.node === undefined || fault.node === node) &&
      startedAt <= fault.to + NOTICED_MS &&
      endedAt >= fault.from,
  )

const nameOf = ({ name, node, startedAt }: Call) =>
  `${name} at node ${node}, ${Math.round(startedAt)} ms after the start,`
