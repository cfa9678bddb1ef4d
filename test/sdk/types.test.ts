import type * as client from '@parley/client'
import type {
  Args,
  Contract,
  channelEvents,
  ErrorCode,
  ephemeralChannelEvents,
  ephemeralUserEvents,
  Operation,
  Output,
  userEvents,
} from '@parley/contract'
import { expect, test } from 'vitest'
import type { z } from 'zod'

/** A type written out, so that only its structure counts. */
type Plain<T> = T extends readonly (infer Item)[]
  ? Plain<Item>[]
  : T extends object
    ? { [Key in keyof T]: Plain<T[Key]> }
    : T
type IsSame<A, B> =
  (<T>() => T extends Plain<A> ? 1 : 2) extends <T>() => T extends Plain<B> ? 1 : 2 ? true : false
type Unless<Condition, Name> = Condition extends true ? never : Name

type Call = (args: never, options?: never) => Promise<unknown>
/** An operation without arguments takes an empty object. */
type Given<Op extends Operation> = keyof Args<Op> extends never ? Record<string, never> : Args<Op>
type DifferentCall<Name extends string, Op, Method> = Op extends Operation
  ? Method extends Call
    ?
        | Unless<
            IsSame<NonNullable<Parameters<Method>[0]>, Given<Op>>,
            `${Name} takes other arguments`
          >
        | Unless<IsSame<Awaited<ReturnType<Method>>, Output<Op>>, `${Name} returns another type`>
    : `${Name} is missing`
  : never
type DifferentCalls = {
  [Group in keyof Contract & string]: {
    [Name in keyof Contract[Group] & string]: DifferentCall<
      `${Group}.${Name}`,
      Contract[Group][Name],
      Group extends keyof client.Api
        ? Name extends keyof client.Api[Group]
          ? client.Api[Group][Name]
          : never
        : never
    >
  }[keyof Contract[Group] & string]
}[keyof Contract & string]

type Payloads<Events extends Record<string, z.ZodType>> = {
  [Type in keyof Events]: z.infer<Events[Type]>
}
type DifferentEvents<Name extends string, Events, Expected> = {
  [Type in (keyof Events | keyof Expected) & string]: Type extends keyof Events & keyof Expected
    ? Unless<IsSame<Events[Type], Expected[Type]>, `${Name}: ${Type}`>
    : `${Name}: ${Type}`
}[(keyof Events | keyof Expected) & string]

type Differences =
  | DifferentCalls
  | DifferentEvents<
      'channel event',
      client.ChannelEvents,
      Payloads<typeof channelEvents & typeof ephemeralChannelEvents>
    >
  | DifferentEvents<
      'user event',
      client.UserEvents,
      Payloads<typeof userEvents & typeof ephemeralUserEvents>
    >
  | Unless<IsSame<client.ErrorCode, ErrorCode>, 'error codes'>
  | Unless<
      IsSame<client.ChannelsFilter['type'], Args<Contract['channels']['list']>['type']>,
      'types of listed channels'
    >

test('the client has the types of the contract: arguments, results, events and error codes', () => {
  // A difference is a compile error here that names it.
  const differences: Record<Differences, never> = {}
  expect(differences).toEqual({})
})

type OfChannels = Exclude<keyof client.ChannelEvents, keyof client.UserEvents>
type WithoutChannel = {
  [Type in OfChannels]: Unless<IsSame<client.ChatEvents[Type]['channelId'], string>, Type>
}[OfChannels]

test('an event that only channels have says of which channel it is', () => {
  // Another type is a compile error here that names it.
  const without: Record<WithoutChannel, never> = {}
  expect(without).toEqual({})
})
