import { createApi, type UserApi } from '@parley/client'
import { serverUrl, tokenOf } from './session.ts'

/** What the first channel is about until the last one is made. */
const PREPARING = 'Being prepared…'

/**
 * Something to look at on the first visit; nothing happens once it is there, or Ana has channels of another origin.
 * Every channel and message has a key of its own, so that those who do this at once make one set, and who comes after an
 * interruption completes it.
 */
export async function seed() {
  const [ana, ben, cleo] = await Promise.all([userOf('ana'), userOf('ben'), userOf('cleo')])
  const { channels } = await ana.channels.list()
  if (channels.length > 0 && !channels.some(({ description }) => description === PREPARING)) return
  const channelId = await seedWordChain(ana, [ana, ben, cleo])
  await seedDirect(ana, ben)
  await seedLaunch(ana, { ben, cleo })
  await seedWelcome(ana, { ben, cleo })
  await ana.channels.update({
    channelId,
    description: 'Each word begins as the one before it ends',
  })
}

type Others = { ben: UserApi; cleo: UserApi }
const everybody = { memberIds: ['ben', 'cleo'] }

async function userOf(userId: string): Promise<UserApi> {
  const { token } = await tokenOf(userId)()
  return createApi({ url: serverUrl, token })
}

/** More than a page of messages, to scroll in. */
async function seedWordChain(ana: UserApi, players: UserApi[]) {
  const { id: channelId } = await ana.channels.create({
    type: 'group',
    name: 'Word chain',
    description: PREPARING,
    clientId: 'seed-words',
    ...everybody,
  })
  for (const [place, text] of words.entries())
    await players[place % players.length]?.messages.send({
      channelId,
      text,
      clientId: `seed-word-${place}`,
    })
  await Promise.all(players.map((player) => player.reads.mark({ channelId })))
  return channelId
}

async function seedDirect(ana: UserApi, ben: UserApi) {
  const { id: channelId } = await ana.channels.create({ type: 'messaging', memberIds: ['ben'] })
  await ben.messages.send({
    channelId,
    text: 'Lunch at half past twelve?',
    clientId: 'seed-direct-1',
  })
  await ana.messages.send({ channelId, text: 'Yes! The ramen place 🍜', clientId: 'seed-direct-2' })
  await ben.reads.mark({ channelId })
  await ben.messages.send({
    channelId,
    text: 'Perfect, I have booked a table',
    clientId: 'seed-direct-3',
  })
}

async function seedLaunch(ana: UserApi, { ben, cleo }: Others) {
  const { id: channelId } = await ana.channels.create({
    type: 'private',
    name: 'Launch week',
    clientId: 'seed-launch',
    ...everybody,
  })
  const plan = await cleo.messages.send({
    channelId,
    text: 'Draft of the announcement is ready for review @ana @ben',
    clientId: 'seed-launch-1',
  })
  await ben.messages.send({
    channelId,
    text: 'Reads well. I would lead with the offline part.',
    parentId: plan.id,
    clientId: 'seed-launch-2',
  })
  await cleo.messages.send({
    channelId,
    text: 'Good call, done.',
    parentId: plan.id,
    clientId: 'seed-launch-3',
  })
  await Promise.all([
    ben.reactions.add({ channelId, messageId: plan.id, emoji: '🚀' }),
    cleo.reactions.add({ channelId, messageId: plan.id, emoji: '🚀' }),
  ])
  await Promise.all([ben, cleo].map((user) => user.reads.mark({ channelId })))
}

async function seedWelcome(ana: UserApi, { ben, cleo }: Others) {
  const about = 'Say hello, and try things'
  const { id: channelId } = await ana.channels.create({
    type: 'public',
    name: 'Welcome',
    description: about,
    clientId: 'seed-welcome',
    ...everybody,
  })
  const hello =
    'Welcome to the playground! You are Ana and Ben at once: what one writes, the other sees.'
  const first = await cleo.messages.send({ channelId, text: hello, clientId: 'seed-welcome-1' })
  const tips =
    'Point at a message to react, reply or pin it. Type @ to mention somebody, `code` for code.'
  const second = await cleo.messages.send({ channelId, text: tips, clientId: 'seed-welcome-2' })
  await cleo.messages.send({
    channelId,
    text: 'Then take Ben offline with the switch above, write a few lines, and bring him back.',
    clientId: 'seed-welcome-3',
  })
  await ben.messages.send({
    channelId,
    text: 'Hi @ana 👋 Ready when you are.',
    clientId: 'seed-welcome-4',
  })
  await Promise.all([
    cleo.pins.pin({ channelId, messageId: second.id }),
    ana.reactions.add({ channelId, messageId: first.id, emoji: '👋' }),
    ben.reactions.add({ channelId, messageId: first.id, emoji: '👋' }),
    ben.reactions.add({ channelId, messageId: first.id, emoji: '🎉' }),
  ])
}

// Each begins as the one before it ends.
const words =
  `apple elephant tiger rainbow window water river rabbit table eagle emerald dolphin nest tomato orange engine
  echo olive east train night turtle earth honey yellow walnut tulip piano ocean needle evening garden notebook kettle
  envelope eleven nectar ruby yarn north hammer raven nutmeg guitar rocket tango oasis sunrise easel lantern narwhal
  lemon nine elbow wagon nickel lily yonder rhythm melon net tea anchor rose ember`
    .trim()
    .split(/\s+/)
