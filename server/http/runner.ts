import { limits, type Operation } from '@parley/contract'
import type { AdmissionRequest, Admit } from '../core/admission.ts'
import { causeOf, hasKey, runOperation, type Services } from '../core/context.ts'
import type { Metrics } from '../core/metrics.ts'
import {
  type Batch,
  type CONTENDED,
  type Command,
  type CommandOutcome,
  type Implementation,
  type Prepare,
  RequiresFirstError,
} from '../core/operation.ts'
import type { Db } from '../db/client.ts'
import { transaction } from '../db/transaction.ts'
import { createEachRunner } from './each-runner.ts'
import { createGroupCommit } from './group-commit.ts'
import {
  type InTransaction,
  type Runner,
  type RunningCall,
  toolsOf,
  type UseForCall,
} from './running-call.ts'

export type RunnerDependencies = {
  db: Db
  admit: Admit
  services: Services
  metrics: Pick<Metrics, 'callsRefused'>
  /** One runner per batch operation, so that all its calls share transactions. */
  batchRunners: Map<Batch<Operation>, Runner>
}

/** A call as admission knows it. A call without an app is the operator's. */
export function admissionRequestOf({
  caller,
  until,
  gone,
  isShared,
  isWaiting,
}: RunningCall): AdmissionRequest {
  if (!('appId' in caller)) return { appId: 'operator', queue: 'calls', until, gone }
  const { appId } = caller
  if (isShared) return { appId, queue: 'sends', until }
  if ('userId' in caller && caller.userId !== null && !hasKey(caller)) {
    if (isWaiting) return { appId, queue: 'waits', first: caller.userId, until }
    return { appId, userId: caller.userId, until, gone }
  }
  return { appId, queue: isWaiting ? 'waits' : 'calls', until, gone }
}

export function createRunner(
  dependencies: RunnerDependencies,
  implementation: Implementation,
): Runner {
  const { db, admit, services, metrics, batchRunners } = dependencies
  const use: UseForCall = (call, work) =>
    admit(admissionRequestOf(call), () => db.use(work, call.until))
  const inTransaction: InTransaction = ({ writesLast = false, cause, ...call }, work) => {
    const { caller } = call
    return use(call, (db, signal) =>
      runOperation(
        db,
        { caller, services, signal, writesLast, cause: cause ?? causeOf(caller) },
        work,
      ),
    )
  }
  const batchRunnerOf = (batch: Batch<Operation>) => {
    const runner = batchRunners.get(batch) ?? createBatchRunner({ inTransaction, metrics }, batch)
    batchRunners.set(batch, runner)
    return runner
  }
  const prepared = (prepare: Prepare | undefined, run: Runner): Runner => {
    if (!prepare) return run
    return async ({ input, ...call }) => {
      const { caller } = call
      const ready = await prepare({ caller, services, read: (work) => use(call, work) }, input)
      // The implementation and its `prepare` have the same input.
      if ('input' in ready) return run({ ...call, input: ready.input as never })
      await call.onRepeat()
      return ready.repeated
    }
  }
  switch (implementation.kind) {
    case 'connectionless':
      return ({ input, ...call }) =>
        implementation.run(
          { caller: call.caller, services, read: (work) => use(call, work) },
          input,
        )
    case 'read':
      return ({ input, ...call }) =>
        use(call, (db) => implementation.run({ db, caller: call.caller, services }, input))
    case 'write': {
      const runWrite = withFirstSteps({ use, inTransaction }, (call) =>
        inTransaction(call, (ctx) => implementation.run(ctx, call.input)),
      )
      return prepared(implementation.prepare, runWrite)
    }
    case 'streamedBody':
      return ({ input, caller, gone, body = nothing() }) =>
        implementation.run(
          {
            caller,
            services,
            body,
            inTransaction: (work) =>
              use({ caller, gone, until: db.newDeadline() }, (connection, signal) =>
                transaction(connection, async (tx) => {
                  const result = await work(tx)
                  signal.throwIfAborted()
                  return result
                }),
              ),
          },
          input,
        )
    case 'batch': {
      const runBatch = withFirstSteps({ use, inTransaction }, batchRunnerOf(implementation))
      return prepared(implementation.prepare, runBatch)
    }
    case 'shared':
      return createGroupRunner(metrics, implementation, (commands, { call, waitsForLocks }) =>
        use(call, (db) => implementation.run({ db, services }, commands, { waitsForLocks })),
      )
    case 'each':
      return createEachRunner(implementation, {
        use,
        inTransaction,
        services,
        attempt: batchRunnerOf(implementation.part),
      })
  }
}

async function* nothing(): AsyncIterable<Uint8Array> {}

/**
 * Takes the step that an operation requires first, then tries again, more than once if others undo
 * it meanwhile. Attempts and steps fail after the deadline, so this ends.
 */
function withFirstSteps(calls: Parameters<typeof toolsOf>[1], run: Runner): Runner {
  return async (call) => {
    for (;;) {
      try {
        return await run(call)
      } catch (error) {
        if (!(error instanceof RequiresFirstError)) throw error
        await error.step(toolsOf(call, calls))
      }
    }
  }
}

function createBatchRunner(
  {
    inTransaction,
    metrics,
  }: { inTransaction: InTransaction } & Pick<RunnerDependencies, 'metrics'>,
  batch: Batch<Operation>,
): Runner {
  return createGroupRunner(metrics, batch, (commands, { call, waitsForLocks }) =>
    // The batch has no cause of its own: each event says whether its caller is a backend.
    inTransaction({ ...call, writesLast: true, cause: {} }, (ctx) =>
      batch.run(ctx, commands, { waitsForLocks }),
    ),
  )
}

type RunGroup = (
  commands: Command<Operation>[],
  options: { call: RunningCall; waitsForLocks: boolean },
) => Promise<(CommandOutcome | typeof CONTENDED)[]>

/** Runs commands of several callers together, each with an outcome of its own. */
function createGroupRunner(
  metrics: RunnerDependencies['metrics'],
  {
    keysOf,
    bytesOf,
    batchesAtOnce,
  }: Pick<Batch<Operation>, 'keysOf' | 'bytesOf' | 'batchesAtOnce'>,
  run: RunGroup,
): Runner {
  const attempt = createGroupCommit<Command<Operation>, CommandOutcome>({
    bytesOf,
    batchesAtOnce,
    ...limits.sharedTransactions,
    onRefused: () => metrics.callsRefused.inc({ reason: 'full' }),
    run: async (commands, { until, waitsForLocks }) => {
      const [first] = commands
      if (!first) return []
      // A batch that waits for a lock counts as its first caller's, so that it holds up no other
      // resource.
      const call = {
        caller: first.caller,
        until,
        isWaiting: waitsForLocks,
        isShared: !waitsForLocks,
      }
      return run(commands, { call, waitsForLocks })
    },
  })
  return async ({ caller, input, until, onRepeat, sequence }) => {
    const command = { caller, input }
    const outcome = await attempt({ ...keysOf(command), sequence }, command, until)
    if ('error' in outcome) throw outcome.error
    if (outcome.isRepeat) await onRepeat()
    return outcome.result
  }
}
