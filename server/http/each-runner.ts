import type { Operation } from '@parley/contract'
import type { Services } from '../core/context.ts'
import { ApiError } from '../core/errors.ts'
import { type Batch, type Each, type EachOutcome, RequiresFirstError } from '../core/operation.ts'
import type { Tx } from '../db/client.ts'
import { type CommandSequence, createCommandSequence, isTemporary } from './command-sequence.ts'
import { toApiError } from './errors.ts'
import { answerOver, type InputOrRefusal, noteRefusals } from './over-limit.ts'
import {
  type AcceptedCall,
  type InTransaction,
  type Runner,
  toolsOf,
  type UseForCall,
} from './running-call.ts'

type EachRunnerOptions = {
  use: UseForCall
  inTransaction: InTransaction
  services: Services
  /** Carries out one command in a batch with others. */
  attempt: Runner
}

/** How many commands are prepared at once: as many as fit into one transaction. */
const AT_ONCE = 25

/**
 * Runs the commands of one call, each with its own outcome. They enter the batches in their order,
 * which is therefore the order in which they are stored, however long each takes to prepare and
 * whichever the caller has to repeat.
 */
export function createEachRunner(each: Each<Operation>, options: EachRunnerOptions): Runner {
  const { use, services } = options
  return async ({ input, ...given }) => {
    const call = { ...given, sequence: createCommandSequence() }
    const { caller } = call
    await use(call, (db) => each.check({ db, caller, services }, input))
    const outcomes: EachOutcome[] = []
    const { within, over } = await countEach(each.inputsOf(input), {
      takeAnother: call.takeAnother,
      answerOver: (inputs, refusal) =>
        answerOver(inputs, refusal, async (repeats) =>
          call.mayLookUp()
            ? use(call, (db) => each.findRepeated({ db, caller, services }, repeats))
            : new Map(),
        ),
    })
    for (let start = 0; start < within.length; start += AT_ONCE) {
      const some = within.slice(start, start + AT_ONCE)
      outcomes.push(...(await runSome(each.part, { inputs: some, call, options })))
    }
    outcomes.push(...over)
    noteRefusals(outcomes, call.noteRefusal)
    return each.outputOf(outcomes)
  }
}

type EachCall = Omit<AcceptedCall, 'input'> & { sequence: CommandSequence }
type CallSlice = { inputs: InputOrRefusal[]; call: EachCall; options: EachRunnerOptions }

type CountEachOptions = Pick<EachCall, 'takeAnother'> & {
  answerOver: (inputs: InputOrRefusal[], refusal: ApiError) => Promise<EachOutcome[]>
}

/**
 * The call was counted as one. Each further command is counted too: from the first that exceeds the
 * limit on they have their outcomes.
 */
async function countEach(inputs: InputOrRefusal[], { takeAnother, answerOver }: CountEachOptions) {
  for (const index of inputs.keys()) {
    const refusal = index > 0 ? await takeAnother() : undefined
    if (!refusal) continue
    return { within: inputs.slice(0, index), over: await answerOver(inputs.slice(index), refusal) }
  }
  return { within: inputs, over: [] }
}

async function runSome(part: Batch<Operation>, { inputs, call, options }: CallSlice) {
  const prepared = await Promise.all(
    inputs.map((input) => settle(call, () => prepare(part, { input, call, options }))),
  )
  const refused = prepared.findIndex((each) => 'error' in each && isTemporary(each.error))
  const refusal = prepared[refused]
  if (refusal) prepared.fill(refusal, refused)
  const outcomes = new Map<number, EachOutcome>()
  let waiting = [...prepared.keys()]
  for (const [index, outcome] of prepared.entries())
    if (!('input' in outcome)) outcomes.set(index, outcome)
  waiting = waiting.filter((index) => !outcomes.has(index))
  while (waiting.length > 0) {
    let first: RequiresFirstError | undefined
    const attempts = waiting.map(async (index) => {
      const command = prepared[index]
      if (!command || !('input' in command)) return
      const outcome = await settle(call, async () => {
        try {
          const accepted = { ...call, input: command.input as never } // of the part's schema
          return { result: (await options.attempt(accepted)) as never } // what the part returns
        } catch (error) {
          if (!(error instanceof RequiresFirstError)) throw error
          first ??= error
          return undefined
        }
      })
      if (outcome) outcomes.set(index, outcome)
    })
    await Promise.all(attempts)
    waiting = waiting.filter((index) => !outcomes.has(index))
    const step = first?.step
    const failure = step && (await settle(call, () => takeStep(step, { call, options })))
    // None of them can run without the step that failed.
    if (failure) {
      for (const index of waiting.splice(0)) outcomes.set(index, failure)
    }
  }
  // Everything before these has run: later commands now wait behind those that were refused.
  for (const outcome of outcomes.values()) {
    if ('error' in outcome) call.sequence.note(outcome.error)
  }
  return inputs.map((_, index) => outcomes.get(index) ?? { error: toApiError(undefined) })
}

async function prepare(
  { prepare }: Batch<Operation>,
  {
    input,
    call,
    options: { use, services },
  }: Omit<CallSlice, 'inputs'> & { input: InputOrRefusal },
) {
  if (input instanceof ApiError) throw input
  const { caller, onRepeat, sequence } = call
  if (sequence.refusal) throw sequence.refusal
  if (!prepare) return { input }
  const context = { caller, services, read: <T>(work: (db: Tx) => Promise<T>) => use(call, work) }
  const prepared = await prepare(context, input)
  if ('input' in prepared) return prepared
  await onRepeat()
  return { result: prepared.repeated }
}

async function takeStep(
  step: RequiresFirstError['step'],
  { call, options }: Pick<CallSlice, 'call' | 'options'>,
) {
  await step(toolsOf(call, options))
  return undefined
}

/** An error is the outcome of its command alone; a bug is logged. */
async function settle<T>({ logFault }: EachCall, run: () => Promise<T>) {
  try {
    return await run()
  } catch (cause) {
    const error = toApiError(cause)
    if (error !== cause) logFault(cause)
    return { error }
  }
}
