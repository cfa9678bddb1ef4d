import type { Contract, Input, Operation, Output } from '@parley/contract'
import type { Db } from '../db/client.ts'
import type {
  Caller,
  ConnectionlessContext,
  Context,
  StreamedBodyContext,
  WriteContext,
} from './context.ts'
import type { ApiError } from './errors.ts'
import type { JsonText } from './json-text.ts'

/** An operation of the contract and the function that carries it out. Knows nothing of HTTP. */
export type Implementation<Op extends Operation = Operation> =
  | Connectionless<Op>
  | Read<Op>
  | Write<Op>
  | Batch<Op>
  | Shared<Op>
  | StreamedBody<Op>
  | Each<Op>
type Connectionless<Op extends Operation> = {
  kind: 'connectionless'
  op: Op
  run: (ctx: ConnectionlessContext<Op['auth']>, input: Input<Op>) => Promise<Output<Op>>
}
type Read<Op extends Operation> = {
  kind: 'read'
  op: Op
  run: (ctx: Context<Op['auth']>, input: Input<Op>) => Promise<Output<Op> | JsonText<Output<Op>>>
}
type Write<Op extends Operation> = {
  kind: 'write'
  op: Op
  run: (ctx: WriteContext<Op['auth']>, input: Input<Op>) => Promise<Output<Op>>
  prepare?: Prepare<Op> | undefined
}
type StreamedBody<Op extends Operation> = {
  kind: 'streamedBody'
  op: Op
  run: (ctx: StreamedBodyContext<Op['auth']>, input: Input<Op>) => Promise<Output<Op>>
}
export type Batch<Op extends Operation> = { kind: 'batch'; op: Op } & BatchRules<Op>

/**
 * Comes before the transaction, and holds no connection while it waits: returns the input to carry
 * out, or the result at once.
 */
export type Prepare<Op extends Operation = Operation> = (
  ctx: ConnectionlessContext<Op['auth']>,
  input: Input<Op>,
) => Promise<{ input: Input<Op> } | { repeated: Output<Op> }>

/** How commands are grouped. */
type GroupRules<Op extends Operation> = {
  /**
   * Commands of one group, all of one app, may share a transaction; `resource` is what they lock.
   */
  keysOf: (command: Command<Op>) => { group: string; resource: string }
  /** About how many bytes a command has. */
  bytesOf: (command: Command<Op>) => number
  /** How many batches of a group run at the same time, by default one. */
  batchesAtOnce?: number
}
type CommandOutcomes<Op extends Operation> = (CommandOutcome<Op> | typeof CONTENDED)[]

type BatchRules<Op extends Operation> = GroupRules<Op> & {
  /**
   * Carries out commands of one group in one transaction; returns their outcomes in order. Unless
   * it `waitsForLocks`, a command whose resource others have locked is left undone: CONTENDED.
   * Through `ctx.db` it only locks and reads, and it writes by `ctx.queueWrite` and events alone:
   * when it starts it is not known yet whether the transaction has begun.
   */
  run: (
    ctx: Omit<WriteContext<Op['auth']>, 'caller'>,
    commands: Command<Op>[],
    options: { waitsForLocks: boolean },
  ) => Promise<CommandOutcomes<Op>>
  prepare?: Prepare<Op>
  /** The result of an earlier command that this one repeats, if there is one. */
  findRepeated: (ctx: Context<Op['auth']>, input: Input<Op>) => Promise<Output<Op> | undefined>
}

export type Shared<Op extends Operation> = { kind: 'shared'; op: Op } & SharedRules<Op>
type SharedRules<Op extends Operation> = GroupRules<Op> & {
  /**
   * Carries out commands of one group without a transaction, so that what it writes is a single
   * statement; returns their outcomes in order. Unless it `waitsForLocks`, a command whose resource
   * others have locked is left undone: CONTENDED.
   */
  run: (
    ctx: Omit<Context<Op['auth']>, 'caller'>,
    commands: Command<Op>[],
    options: { waitsForLocks: boolean },
  ) => Promise<CommandOutcomes<Op>>
}

export type Command<Op extends Operation> = { caller: Caller<Op['auth']>; input: Input<Op> }

/** One call with many commands of another operation. Each has an outcome of its own. */
export type Each<Op extends Operation> = { kind: 'each'; op: Op; part: Batch<Operation> } & Pick<
  EachRules<Op, Operation>,
  'check' | 'inputsOf' | 'findRepeated' | 'outputOf'
>
type EachRules<Op extends Operation, Part extends Operation> = {
  /** The operation that carries out the commands, in their order. */
  part: Batch<Part>
  /** Refuses the whole call: those who may not see what the commands are about. */
  check: (ctx: Context<Op['auth']>, input: Input<Op>) => Promise<unknown>
  /** The commands; what is wrong with one that is malformed. */
  inputsOf: (input: Input<Op>) => (Input<Part> | ApiError)[]
  /**
   * The results of the earlier commands that these ones of a call repeat, where there are such, by
   * one statement.
   */
  findRepeated: (
    ctx: Context<Op['auth']>,
    commands: Input<Part>[],
  ) => Promise<Map<Input<Part>, Output<Part>>>
  outputOf: (outcomes: EachOutcome<Part>[]) => Output<Op>
}
export type EachOutcome<Part extends Operation = Operation> =
  | { result: Output<Part> }
  | { error: ApiError }

/** Others hold the lock that a command of a batch needs. */
export const CONTENDED = Symbol('contended')

/** The outcome of one command of a batch. An error is a value: thrown, it would undo the batch. */
export type CommandOutcome<Op extends Operation = Operation> =
  | { result: Output<Op>; isRepeat?: boolean }
  | { error: Error }

/**
 * The error of an operation that can only be carried out after another step. The operation is
 * undone, the step is taken, and the operation is tried again, all before the deadline of the call.
 */
export class RequiresFirstError extends Error {
  override readonly name = 'RequiresFirstError'

  constructor(readonly step: FirstStep) {
    super('this operation requires another step first')
  }
}
export type FirstStep = (tools: FirstStepTools) => Promise<unknown>
export type FirstStepTools = {
  /** Runs work of the same caller in a transaction of its own. */
  inTransaction: (work: (ctx: WriteContext) => Promise<unknown>) => Promise<unknown>
  /** Lends a connection as one of the call's: its caller has at most a few at once. */
  use: Db['use']
  /** The deadline of the call. */
  until: number
}

/** An operation that changes something: in one transaction. */
export const implement = <Op extends Operation>(
  op: Op,
  run: Write<Op>['run'],
  prepare?: Prepare<Op>,
): Write<Op> => ({ kind: 'write', op, run, prepare })
/** An operation that only reads, or writes in a single statement: no transaction around it. */
export const implementWithoutTransaction = <Op extends Operation>(
  op: Op,
  run: Read<Op>['run'],
): Read<Op> => ({
  kind: 'read',
  op,
  run,
})
/** An operation that holds no connection while it waits for something slower than the database. */
export const implementWithoutConnection = <Op extends Operation>(
  op: Op,
  run: Connectionless<Op>['run'],
): Connectionless<Op> => ({
  kind: 'connectionless',
  op,
  run,
})
/** An operation that reads its body while it arrives, in many short transactions. */
export const implementStreamedBody = <Op extends Operation>(
  op: Op,
  run: StreamedBody<Op>['run'],
): StreamedBody<Op> => ({
  kind: 'streamedBody',
  op,
  run,
})
/** An operation that carries out many commands in one transaction. */
export const implementBatch = <Op extends Operation>(op: Op, rules: BatchRules<Op>): Batch<Op> => ({
  kind: 'batch',
  op,
  ...rules,
})
/** An operation whose commands share one statement, with no transaction around it. */
export const implementShared = <Op extends Operation>(
  op: Op,
  rules: SharedRules<Op>,
): Shared<Op> => ({ kind: 'shared', op, ...rules })

/** An operation that carries out several commands of a batch operation for one caller. */
export const implementEach = <Op extends Operation, Part extends Operation>(
  op: Op,
  rules: EachRules<Op, Part>,
): Each<Op> => ({
  kind: 'each',
  op,
  ...(rules as unknown as EachRules<Op, Operation>), // they were typed by the operation of the part
})

/** Every operation of a noun: `const messages = { … } satisfies Implements<'messages'>`. */
export type Implements<Noun extends keyof Contract> = {
  [Verb in keyof Contract[Noun]]: Contract[Noun][Verb] extends Operation
    ? Implementation<Contract[Noun][Verb]>
    : never
}
