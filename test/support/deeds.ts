import { isChatError } from '@parley/client'
import type { Channel } from '@parley/contract'
import fc from 'fast-check'
import type { User, World } from './world.ts'

/** A user and what he acts upon: one of the standing channels, a message of it, somebody, a channel that somebody made. */
type Scene = {
  world: World
  user: User
  whom: string
  channelId: string
  messageId: string
  madeId: string
  pick: number
  made: string[]
  sent: string[]
}
type Deed = (scene: Scene) => Promise<unknown>

const emojis = ['👍', '🎉', '❤️']
const role = ({ pick }: Scene) => (['owner', 'moderator', 'member'] as const)[pick % 3] ?? 'member'
const send = async ({ user, channelId, sent, pick }: Scene, parentId?: string) =>
  sent.push(
    (
      await user.messages.send({
        channelId,
        text: `said ${pick} @ben`,
        ...(parentId === undefined ? {} : { parentId }),
      })
    ).id,
  )
const keep = async ({ made }: Scene, channel: Promise<Channel>) => made.push((await channel).id)

/** Everything that changes something others see. */
const deeds = {
  send: (scene) => send(scene),
  sendMore: (scene) => send(scene),
  reply: (scene) => send(scene, scene.messageId),
  edit: ({ user, channelId, messageId, pick }) =>
    user.messages.edit({ channelId, messageId, text: `edited ${pick}` }),
  delete: ({ user, channelId, messageId }) => user.messages.delete({ channelId, messageId }),
  react: ({ user, channelId, messageId, pick }) =>
    user.reactions.add({ channelId, messageId, emoji: emojis[pick % 3] ?? '' }),
  unreact: ({ user, channelId, messageId, pick }) =>
    user.reactions.remove({ channelId, messageId, emoji: emojis[pick % 3] ?? '' }),
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
      userIds: [scene.whom],
      role: scene.pick % 2 ? 'member' : role(scene),
    }),
  remove: ({ user, channelId, whom }) => user.members.remove({ channelId, userId: whom }),
  promote: (scene) =>
    scene.user.members.update({
      channelId: scene.channelId,
      userId: scene.whom,
      role: role(scene),
    }),
  rename: ({ user, channelId, pick }) =>
    user.channels.update({
      channelId,
      name: `Name ${pick}`,
      description: pick % 2 ? `About ${pick}` : null,
    }),
  settings: ({ user, channelId, pick }) =>
    user.channels.updateSettings({ channelId, starred: pick % 2 === 0, muted: pick % 3 === 0 }),
  make: (scene) =>
    keep(
      scene,
      scene.user.channels.create({
        type: scene.pick % 2 ? 'group' : 'private',
        name: `Made ${scene.pick}`,
        memberIds: [scene.whom],
      }),
    ),
  makeDirect: (scene) =>
    keep(scene, scene.user.channels.create({ type: 'messaging', memberIds: [scene.whom] })),
  sendThere: ({ user, madeId, pick }) =>
    user.messages.send({ channelId: madeId, text: `there ${pick}` }),
  renameThere: ({ user, madeId, pick }) =>
    user.channels.update({ channelId: madeId, name: `There ${pick}` }),
  addThere: ({ user, madeId, whom }) => user.members.add({ channelId: madeId, userIds: [whom] }),
  leaveThere: ({ user, madeId }) => user.members.leave({ channelId: madeId }),
  readThere: ({ user, madeId }) => user.reads.mark({ channelId: madeId }),
  destroy: ({ user, madeId }) => user.channels.delete({ channelId: madeId }),
  face: ({ world, whom, pick }) =>
    world.backend.users.put({
      userId: whom,
      name: `Face ${pick}`,
      image: pick % 2 ? `https://example.com/${pick}.png` : null,
    }),
  vanish: ({ world }) => world.backend.users.delete({ userId: MORTAL }),
} satisfies Record<string, Deed>

/** Who is deleted now and then, and comes back as a new user of the same id. */
const MORTAL = 'gus'
export const deedNames = Object.keys(deeds) as (keyof typeof deeds)[]
export type Step = {
  by: number
  on: number
  where: number
  whom: number
  does: keyof typeof deeds
  pick: number
}

export const anyHistory = (steps: number) =>
  fc.array(
    fc.record<Step>({
      by: fc.nat(4),
      on: fc.nat(1),
      where: fc.nat(2),
      whom: fc.nat(4),
      does: fc.constantFrom(...deedNames),
      pick: fc.nat(10_000),
    }),
    {
      minLength: steps,
      maxLength: steps,
    },
  )

/** Five users, three channels with a witness in them, and what happens there on the two nodes. */
export async function openStage(nodes: [World, World]) {
  const [world] = nodes
  const cast = await world.users('ana', 'ben', 'cem', 'dora', MORTAL)
  const witness = await world.user('eve')
  const ids = cast.map(({ id }) => id)
  const channels = await Promise.all(
    (['public', 'public', 'group'] as const).map((type, place) =>
      cast[0].channels.create({ type, name: `Stage ${place}`, memberIds: ['eve', ...ids] }),
    ),
  )
  const sent = channels.map((): string[] => [])
  const made: string[] = []
  let mortalToken = cast[4].token

  /** Carries out a step. Refusals are part of life; anything else that fails fails the test. Answers whether it was carried out. */
  const live = async ({ by, on, where, whom, does, pick }: Step) => {
    const node = nodes[on] ?? world
    const user = cast[by] ?? cast[0]
    const acting = {
      ...node.api({ token: user.id === MORTAL ? mortalToken : user.token }),
      id: user.id,
      token: user.token,
      minted: user.minted,
    }
    const ids = sent[where] ?? []
    const channelId = channels[where]?.id ?? ''
    const scene = {
      world,
      user: acting,
      whom: cast[whom]?.id ?? '',
      channelId,
      messageId: ids[pick % ids.length] ?? channelId,
      pick,
      made,
      sent: ids,
    }
    const perform: Deed = deeds[does]
    try {
      await perform({ ...scene, madeId: made[pick % made.length] ?? world.appId })
      if (does === 'vanish') mortalToken = (await world.user(MORTAL)).token
      return true
    } catch (error) {
      if (isChatError(error) && [400, 401, 403, 404].includes(error.status)) return false
      throw error
    }
  }
  return { users: cast.slice(0, 4), witness, channelIds: channels.map(({ id }) => id), live }
}

/** So many at once; what two do to one face at the same time has no order. */
export async function inTurns(
  history: Step[],
  size: number,
  live: (step: Step) => Promise<boolean>,
) {
  const done: Step[] = []
  for (let start = 0; start < history.length; start += size) {
    const crowd = history.slice(start, start + size)
    const isLone = ({ does, whom }: Step, place: number) =>
      does !== 'face' ||
      crowd.findIndex((other) => other.does === 'face' && other.whom === whom) === place
    const turns = crowd.filter(isLone)
    const carried = await Promise.all(turns.map(live))
    done.push(...turns.filter((_, place) => carried[place]))
  }
  return done
}
