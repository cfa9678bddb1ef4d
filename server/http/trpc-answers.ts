import { limits } from '@parley/contract'
import { ApiError } from '../core/errors.ts'

/** How many bytes of answers a batch may still have. */
export type AnswerBudget = { bytes: number }

/** Throws once the answers so far fill the budget of the batch: they are sent as one. */
export function takeFromBudget(budget: AnswerBudget, answer: string) {
  if (budget.bytes <= 0) {
    const most = limits.batchAnswerBytes / 1024 ** 2
    const message = `The answers of a batch have at most ${most} MB: repeat this call alone`
    throw new ApiError('PAYLOAD_TOO_LARGE', message)
  }
  budget.bytes -= Buffer.byteLength(answer)
}

/** What stands for an answer in a response. Quotes within strings are written as `\"`. */
const PLACEHOLDER = /(?<=\{"result":\{"data":)(\d+)(?=\}\})/

/**
 * The response with its answers, which may be megabytes, in their places. If tRPC wrote them, it
 * would parse, serialize, copy and encode all of them at once, while all other calls wait.
 */
export const withAnswers = (text: string, answers: Buffer[]) =>
  Buffer.concat(
    text
      .split(PLACEHOLDER)
      .map((part, index) => (index % 2 && answers[Number(part)]) || Buffer.from(part)),
  )
