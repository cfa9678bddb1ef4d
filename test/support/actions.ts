import { isChatError } from '@parley/client'
import type { Channel } from '@parley/contract'
import fc from 'fast-check'
import { inBatches } from './batches.ts'
import type { User, World } from './world.ts'

/**
 * A user and what they act upon: a channel and a message, another user, a channel created earlier.
 */
type Scene = {
  world: World
  user: User
  otherId: string
  channelId: string
  messageId: string
  createdId: string
  /** Any number, from which an action chooses its input. */
  pick: number
}
/** What an action has brought about that later ones can act upon. */
type Created = { sentId?: string; createdId?: string }
type Action = (scene: Scene) => Promise<object>

/** The user whom `deleteUser` deletes, and who comes back as a new user with the same id. */
export const RECREATED_ID = 'gus'

const emojis = ['👍', '🎉', '❤️']
const emojiOf = ({ pick }: Scene) => emojis[pick % 3] ?? ''
const roleOf = ({ pick }: Scene) =>
  (['owner', 'moderator', 'member'] as const)[pick % 3] ?? 'member'
const sentId = async (message: Promise<{ id: string }>) => ({ sentId: (await message).id })
const createdId = async (channel: Promise<{ id: string }>) => ({ createdId: (await channel).id })

/** Every action that changes something others see. */
const actions = {
  send: ({ user, channelId, pick }) =>
    sentId(user.messages.send({ channelId, text: `secret ${pick} @ben` })),
  reply: ({ user, channelId, messageId, pick }) =>
    sentId(
      user.messages.send({ channelId, text: `secret reply ${pick} @ben`, parentId: messageId }),
    ),
  edit: ({ user, channelId, messageId, pick }) =>
    user.messages.edit({ channelId, messageId, text: `secret edit ${pick % 2}` }),
  delete: ({ user, channelId, messageId }) => user.messages.delete({ channelId, messageId }),
  react: (scene) =>
    scene.user.reactions.add({
      channelId: scene.channelId,
      messageId: scene.messageId,
      emoji: emojiOf(scene),
    }),
  unreact: (scene) =>
    scene.user.reactions.remove({
      channelId: scene.channelId,
      messageId: scene.messageId,
      emoji: emojiOf(scene),
    }),
  pin: ({ user, channelId, messageId }) => user.pins.pin({ channelId, messageId }),
  unpin: ({ user, channelId, messageId }) => user.pins.unpin({ channelId, messageId }),
  read: ({ user, channelId }) => user.reads.mark({ channelId }),
  readTo: ({ user, channelId, messageId }) => user.reads.mark({ channelId, messageId }),
  receipt: ({ user, channelId, messageId }) => user.receipts.mark({ channelId, messageId }),
  join: ({ user, channelId }) => user.members.join({ channelId }),
  leave: ({ user, channelId }) => user.members.leave({ channelId }),
  add: (scene) =>
    scene.user.members.add({
      channelId: scene.channelId,
      userIds: [scene.otherId],
      role: scene.pick % 2 ? 'member' : roleOf(scene),
    }),
  remove: ({ user, channelId, otherId }) => user.members.remove({ channelId, userId: otherId }),
  changeRole: (scene) =>
    scene.user.members.update({
      channelId: scene.channelId,
      userId: scene.otherId,
      role: roleOf(scene),
    }),
  rename: ({ user, channelId, pick }) =>
    user.channels.update({
      channelId,
      name: `Name ${pick % 2}`,
      description: pick % 3 ? `About ${pick}` : null,
    }),
  changeSettings: ({ user, channelId, pick }) =>
    user.channels.updateSettings({ channelId, starred: pick % 2 === 0, muted: pick % 3 === 0 }),
  create: ({ user, otherId, pick }) =>
    createdId(
      user.channels.create({
        type: pick % 2 ? 'group' : 'private',
        name: `Created ${pick}`,
        memberIds: [otherId],
      }),
    ),
  createDirect: ({ user, otherId }) =>
    createdId(user.channels.create({ type: 'messaging', memberIds: [otherId] })),
  sendToCreated: ({ user, createdId, pick }) =>
    user.messages.send({ channelId: createdId, text: `there ${pick}` }),
  renameCreated: ({ user, createdId, pick }) =>
    user.channels.update({ channelId: createdId, name: `There ${pick}` }),
  addToCreated: ({ user, createdId, otherId }) =>
    user.members.add({ channelId: createdId, userIds: [otherId] }),
  leaveCreated: ({ user, createdId }) => user.members.leave({ channelId: createdId }),
  readCreated: ({ user, createdId }) => user.reads.mark({ channelId: createdId }),
  deleteCreated: ({ user, createdId }) => user.channels.delete({ channelId: createdId }),
  changeProfile: ({ world, otherId, pick }) =>
    world.backend.users.put({
      userId: otherId,
      name: `Name ${pick}`,
      image: pick % 2 ? `https://example.com/${pick}.png` : null,
    }),
  deleteUser: ({ world }) => world.backend.users.delete({ userId: RECREATED_ID }),
} satisfies Record<string, Action>

type ActionName = keyof typeof actions
export const actionNames = Object.keys(actions) as ActionName[] // as declared

/**
 * Actions in the channels of a fixture, by users who stay. What is likelier is listed more often.
 */
const everydayActions: ActionName[] = [
  'send',
  'send',
  'send',
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
 * shows its seed and history. It is not shrunk: a failure of concurrent actions would not occur
 * again.
 */
export function afterAnyHistory(
  { length, runs }: { length: number; runs: number },
  work: (history: Step[]) => Promise<void>,
) {
  const step = steps({ names: everydayActions, users: 4, channels: 2, nodes: 1 })
  const history = fc.array(step, { minLength: length / 2, maxLength: length })
  return fc.assert(fc.asyncProperty(history, work), { numRuns: runs, endOnFailure: true })
}

/** A step, and what came of it: `messageId` is the message sent or acted upon. */
type Outcome = {
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
  const run = async (step: Step): Promise<Outcome> => {
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
  run: (step: Step) => Promise<Outcome>,
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
