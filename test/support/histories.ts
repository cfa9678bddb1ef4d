import { isChatError } from '@parley/client'
import type { Channel } from '@parley/contract'
import fc from 'fast-check'
import {
  type Action,
  type ActionName,
  actionNames,
  actions,
  type Created,
  RECREATED_ID,
} from './actions.ts'
import { inBatches } from './batches.ts'
import type { User, World } from './world.ts'

/**
 * Actions in the channels of a fixture, by users who stay. What is likelier is listed more often.
 */
const everydayActions: ActionName[] = [
  'send',
  'send',
  'send',
  'sendSilently',
  'reply',
  'edit',
  'delete',
  'delete',
  'read',
  'readTo',
  'join',
  'leave',
  'react',
  'unreact',
  'pin',
  'unpin',
  'changeSettings',
  'rename',
]

/** Which user does what, where and on which node. Indexes are those of the fixture. */
export type Step = {
  user: number
  node: number
  channel: number
  other: number
  action: ActionName
  pick: number
}

const steps = ({
  names,
  users,
  channels,
  nodes,
}: {
  names: ActionName[]
  users: number
  channels: number
  nodes: number
}) =>
  fc.record<Step>({
    user: fc.nat(users - 1),
    node: fc.nat(nodes - 1),
    channel: fc.nat(channels - 1),
    other: fc.nat(users - 1),
    action: fc.constantFrom(...names),
    pick: fc.nat(10_000),
  })

/** Histories of all actions, by five users in three channels on two nodes. */
export const anyHistory = (length: number) =>
  fc.array(steps({ names: [...actionNames, 'send'], users: 5, channels: 3, nodes: 2 }), {
    minLength: length,
    maxLength: length,
  })

/**
 * Checks a property after histories of everyday actions by four users in two channels. A failure
 * shows its seed, which SEED repeats, and its history. It is not shrunk: a failure of concurrent
 * actions would not occur again.
 */
export function afterAnyHistory(
  { length, runs }: { length: number; runs: number },
  work: (history: Step[]) => Promise<void>,
) {
  const step = steps({ names: everydayActions, users: 4, channels: 2, nodes: 1 })
  const history = fc.array(step, { minLength: length / 2, maxLength: length })
  const seed = process.env.SEED === undefined ? {} : { seed: Number(process.env.SEED) }
  return fc.assert(fc.asyncProperty(history, work), { ...seed, numRuns: runs, endOnFailure: true })
}

/** A step, and what came of it: `messageId` is the message sent or acted upon. */
type StepOutcome = {
  step: Step
  user: User
  channelId: string
  messageId: string
  isRefused: boolean
}

type FixtureOptions = {
  userIds: [string, ...string[]]
  channels: { type: Channel['type']; name: string; memberIds: string[] }[]
}

/** Users, and channels of the first of them, in which histories take place. */
export async function createFixture(
  nodes: [World, ...World[]],
  { userIds, channels: wanted }: FixtureOptions,
) {
  const [world] = nodes
  const users = (await world.users(...userIds)) as [User, ...User[]] // one for each id
  const channels: Channel[] = []
  for (const input of wanted) channels.push(await users[0].channels.create(input))
  const sent = channels.map((): string[] => [])
  const created: string[] = []
  const tokens = new Map(users.map(({ id, token }) => [id, token]))

  /** Carries out a step. It may be refused, but it must not fail in any other way. */
  const run = async (step: Step): Promise<StepOutcome> => {
    const { pick } = step
    const user = users[step.user] ?? users[0]
    const node = nodes[step.node] ?? world
    const channelId = channels[step.channel]?.id ?? ''
    const ids = sent[step.channel] ?? []
    const messageId = ids[pick % ids.length] ?? channelId
    const outcome = { step, user, channelId, messageId, isRefused: false }
    const perform: Action = actions[step.action]
    try {
      const result: Created = await perform({
        world,
        user: { ...user, ...node.api({ token: tokens.get(user.id) ?? '' }) },
        otherId: users[step.other]?.id ?? '',
        channelId,
        messageId,
        createdId: created[pick % created.length] ?? world.appId,
        pick,
      })
      if (result.sentId) ids.push(result.sentId)
      if (result.createdId) created.push(result.createdId)
      if (step.action === 'deleteUser')
        tokens.set(RECREATED_ID, (await world.user(RECREATED_ID)).token)
      return { ...outcome, messageId: result.sentId ?? messageId }
    } catch (error) {
      if (isRefusal(error, user)) return { ...outcome, isRefused: true }
      throw error
    }
  }

  return { users, channels, run }
}

/** The tokens of a deleted user are void. */
const isRefusal = (error: unknown, { id }: User) =>
  isChatError(error) &&
  ([400, 403, 404].includes(error.status) || (error.status === 401 && id === RECREATED_ID))

/** The fixture of `afterAnyHistory`. */
export const createEverydayFixture = (world: World) =>
  createFixture([world], {
    userIds: ['ana', 'ben', 'cem', 'dora'],
    channels: ['Left', 'Right'].map((name) => ({ type: 'public', name, memberIds: ['ben'] })),
  })

/**
 * Runs `size` steps at once, then the next ones; answers those that were carried out. Concurrent
 * changes of one profile have no order, so only the first in a batch is run.
 */
export async function runConcurrently(
  history: Step[],
  size: number,
  run: (step: Step) => Promise<StepOutcome>,
) {
  const isRepeated = (step: Step, index: number) => {
    const batch = history.slice(index - (index % size), index)
    return (
      step.action === 'changeProfile' &&
      batch.some(({ action, other }) => action === 'changeProfile' && other === step.other)
    )
  }
  const distinct = history.map((step, index) => (isRepeated(step, index) ? undefined : step))
  const outcomes = await inBatches(distinct, size, async (step) => step && run(step))
  return outcomes.flatMap((outcome) => (outcome && !outcome.isRefused ? [outcome.step] : []))
}
