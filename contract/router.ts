import type {
  TRPCBuiltRouter,
  TRPCDefaultErrorShape,
  TRPCMutationProcedure,
  TRPCQueryProcedure,
  TRPCSubscriptionProcedure,
} from '@trpc/server'
import type { Contract } from './contract.ts'
import type { ErrorCode } from './errors.ts'
import type { Envelope } from './events.ts'
import type { Args, Operation, Output } from './operation.ts'
import type { TopicInput } from './topics.ts'

/**
 * The type for `createTRPCClient<AppRouter>`: every operation as a tRPC procedure (a query for GET,
 * a mutation for the rest), and events as a subscription.
 */
export type AppRouter = TRPCBuiltRouter<
  { ctx: object; meta: object; errorShape: ErrorShape; transformer: false },
  {
    [Noun in keyof Contract]: { [Verb in keyof Contract[Noun]]: Procedure<Contract[Noun][Verb]> }
  } & { events: { topic: TopicSubscription } }
>

/**
 * Events of a topic, over WebSocket with the `wsToken` as `connectionParams.token`. An ephemeral
 * event has the id of the durable event before it.
 */
type TopicSubscription = TRPCSubscriptionProcedure<{
  input: TopicInput
  output: AsyncIterable<{ id: string; data: Envelope }>
  meta: object
}>

/** The data of a tRPC error: the codes and statuses of REST errors. */
type ErrorShape = Omit<TRPCDefaultErrorShape, 'data'> & {
  data: { code: ErrorCode; httpStatus: number; path?: string }
}

type Procedure<Op> = Op extends Operation
  ? Op['method'] extends 'GET'
    ? TRPCQueryProcedure<{ input: OptionalIfEmpty<Args<Op>>; output: Output<Op>; meta: object }>
    : TRPCMutationProcedure<{ input: OptionalIfEmpty<Args<Op>>; output: Output<Op>; meta: object }>
  : never

// biome-ignore lint/complexity/noBannedTypes: only {} extends every type without required fields
// biome-ignore lint/suspicious/noConfusingVoidType: only void lets a call leave its argument out
type OptionalIfEmpty<T> = {} extends T ? T | void : T
