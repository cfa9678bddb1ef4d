import type { Operation } from '@parley/contract'
import { ApiError } from '../core/errors.ts'
import type { Batch, Each, EachOutcome } from '../core/operation.ts'

type Input = Parameters<Batch<Operation>['keysOf']>[0]['input']
/** A command of a call; what is wrong with one that is malformed. */
export type InputOrRefusal = Input | ApiError
type FindRepeated = (inputs: Input[]) => ReturnType<Each<Operation>['findRepeated']>

/**
 * The outcomes of commands over the limit: they are refused, unless they may be looked up and
 * repeat earlier ones. Then they are answered.
 */
export async function answerOver(
  inputs: InputOrRefusal[],
  refusal: ApiError,
  findRepeated: FindRepeated,
): Promise<EachOutcome[]> {
  const found = await findRepeated(inputs.filter(isCommand))
  return inputs.map((input) => {
    const result = isCommand(input) ? found.get(input) : undefined
    return result === undefined ? { error: refusal } : { result }
  })
}

/** Notes each refusal for the log. */
export function noteRefusals(outcomes: EachOutcome[], noteRefusal: (error: ApiError) => void) {
  for (const outcome of outcomes) {
    if ('error' in outcome) noteRefusal(outcome.error)
  }
}

const isCommand = (input: InputOrRefusal): input is Input => !(input instanceof ApiError)
