import { contract } from '@parley/contract'
import { ApiError } from '../../core/errors.ts'
import { implementEach } from '../../core/operation.ts'
import { channelForReader } from '../channels/access.ts'
import { findAllRepeated } from './repeated.ts'
import { send } from './send.ts'

/** Several sends of one caller, each as if it came alone: screened, grouped, refused one by one. */
export const sendBatch = implementEach(contract.messages.sendBatch, {
  part: send,
  check: (ctx, { channelId }) => channelForReader(ctx, channelId),
  inputsOf: ({ channelId, messages }) =>
    messages.map((given) =>
      'draft' in given
        ? { channelId, ...given.draft }
        : new ApiError('VALIDATION_ERROR', given.problem),
    ),
  findRepeated: findAllRepeated,
  outputOf: (outcomes) => ({
    results: outcomes.map((outcome) =>
      'result' in outcome ? { message: outcome.result } : { error: toBatchError(outcome.error) },
    ),
  }),
})

const toBatchError = ({ code, message, retryAfterSeconds }: ApiError) => ({
  code,
  message,
  ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
})
