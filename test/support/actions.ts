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
/** The ids of objects that an action created, for later actions. */
export type Created = { sentId?: string; createdId?: string }
export type Action = (scene: Scene) => Promise<object>

/** The user whom `deleteUser` deletes, and who comes back as a new user with the same id. */
export const RECREATED_ID = 'gus'

const emojis = ['👍', '🎉', '❤️']
export const emojiOf = ({ pick }: Pick<Scene, 'pick'>) => emojis[pick % 3] ?? ''
const roleOf = ({ pick }: Scene) =>
  (['owner', 'moderator', 'member'] as const)[pick % 3] ?? 'member'
const sentId = async (message: Promise<{ id: string }>) => ({ sentId: (await message).id })
const createdId = async (channel: Promise<{ id: string }>) => ({ createdId: (await channel).id })

/** Every action that changes something others see. */
export const actions = {
  send: ({ user, channelId, pick }) =>
    sentId(user.messages.send({ channelId, text: `secret ${pick} @ben` })),
  reply: ({ user, channelId, messageId, pick }) =>
    sentId(
      user.messages.send({ channelId, text: `secret reply ${pick} @ben`, parentId: messageId }),
    ),
  sendSilently: ({ user, channelId, pick }) =>
    sentId(user.messages.send({ channelId, text: `secret ${pick}`, silent: true })),
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

export type ActionName = keyof typeof actions
export const actionNames = Object.keys(actions) as ActionName[] // as declared
