import type { Contract, Input, Operation, Output } from '@parley/contract'
import type { Caller, ConnectionlessContext, Context, WriteContext } from './context.ts'
import type { ApiError } from './errors.ts'

/** An operation of the contract and the function that carries it out. Knows nothing of HTTP. */
export type Implementation<Op extends Operation = Operation> =
  | Plain<Op>
  | Read<Op>
  | Write<Op>
  | Batch<Op>
type Plain<Op extends Operation> = {
  kind: 'plain'
  op: Op
  run: (ctx: ConnectionlessContext<Op['auth']>, input: Input<Op>) => Promise<Output<Op>>
}
type Read<Op extends Operation> = {
  kind: 'read'
  op: Op
  run: (ctx: Context<Op['auth']>, input: Input<Op>) => Promise<Output<Op>>
}
type Write<Op extends Operation> = {
  kind: 'write'
  op: Op
  run: (ctx: WriteContext<Op['auth']>, input: Input<Op>) => Promise<Output<Op>>
}
export type Batch<Op extends Operation> = { kind: 'batch'; op: Op } & BatchRules<Op>

type BatchRules<Op extends Operation> = {
  /** Commands of one lane, of one app at least, wait for each other and are gathered; lanes do not wait for one another. */
  laneOf: (command: Command<Op>) => string
  /** Carries out commands of one app in one transaction; one outcome a command, in order. */
  run: (
    ctx: Omit<WriteContext<Op['auth']>, 'caller'>,
    commands: Command<Op>[],
  ) => Promise<Outcome<Op>[]>
  /** The result of an earlier command that this one repeats, if there is one. */
  findRepeated: (ctx: Context<Op['auth']>, input: Input<Op>) => Promise<Output<Op> | undefined>
}
export type Command<Op extends Operation> = { caller: Caller<Op['auth']>; input: Input<Op> }

/** What became of one command of a batch. A refusal is a value: it must not undo the commands beside it. */
export type Outcome<Op extends Operation = Operation> =
  | { result: Output<Op>; isRepeat?: boolean }
  | { refusal: ApiError }
  /** To be carried out again after this step, which is a transaction of its own. */
  | { first: (ctx: WriteContext<Op['auth']>) => Promise<unknown> }

/** An operation that changes something: in one transaction. */
export const implement = <Op extends Operation>(op: Op, run: Write<Op>['run']): Write<Op> => ({
  kind: 'write',
  op,
  run,
})
/** An operation that only reads, or writes in a single statement: without a transaction around it. */
export const implementWithoutTransaction = <Op extends Operation>(
  op: Op,
  run: Read<Op>['run'],
): Read<Op> => ({
  kind: 'read',
  op,
  run,
})
/** An operation that holds no connection to the database: it does without, or asks somebody slower too. */
export const implementWithoutConnection = <Op extends Operation>(
  op: Op,
  run: Plain<Op>['run'],
): Plain<Op> => ({
  kind: 'plain',
  op,
  run,
})
/** An operation of which many are carried out in one transaction. */
export const implementBatch = <Op extends Operation>(op: Op, rules: BatchRules<Op>): Batch<Op> => ({
  kind: 'batch',
  op,
  ...rules,
})

/** Every operation of a group, none missing: `export const messages = { … } satisfies Implements<'messages'>`. */
export type Implements<Group extends keyof Contract> = {
  [Name in keyof Contract[Group]]: Contract[Group][Name] extends Operation
    ? Implementation<Contract[Group][Name]>
    : never
}
