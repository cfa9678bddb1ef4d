import { createApi, type UserApi } from '@parley/client/api'
import { serverUrl, tokenOf } from './session.ts'

/** The description of the first channel until the demo is complete. */
const PREPARING = 'Being prepared…'

/**
 * Creates the demo on the first visit. It does nothing once the demo is complete, or if Ana has
 * other channels. Every channel and message has a `clientId`, so several pages at once create one
 * demo, and a later visit completes an interrupted one.
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
    description: 'Each word starts with the last letter of the one before',
  })
}

type Others = { ben: UserApi; cleo: UserApi }
const withBenAndCleo = { memberIds: ['ben', 'cleo'] }

async function userOf(userId: string): Promise<UserApi> {
  const { token } = await tokenOf(userId)()
  return createApi({ url: serverUrl, token })
}

/** More than one page of messages, to scroll through. */
async function seedWordChain(ana: UserApi, players: UserApi[]) {
  const { id: channelId } = await ana.channels.create({
    type: 'group',
    name: 'Word chain',
    description: PREPARING,
    clientId: 'seed-words',
    ...withBenAndCleo,
  })
  for (const [index, text] of words.entries())
    await players[index % players.length]?.messages.send({
      channelId,
      text,
      clientId: `seed-word-${index}`,
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
    ...withBenAndCleo,
  })
  const plan = await cleo.messages.send({
    channelId,
    text: 'Draft of the announcement is ready for review @ana @ben',
    attachments: [
      {
        type: 'file',
        url: `${serverUrl}/openapi.json`,
        name: 'openapi.json',
        mimeType: 'application/json',
      },
    ],
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
  const description = 'Say hello, and try things'
  const { id: channelId } = await ana.channels.create({
    type: 'public',
    name: 'Welcome',
    description,
    clientId: 'seed-welcome',
    ...withBenAndCleo,
  })
  const hello =
    'Welcome to the playground! You are both Ana and Ben: what one writes, the other sees.'
  const first = await cleo.messages.send({ channelId, text: hello, clientId: 'seed-welcome-1' })
  const tips =
    'Point at a message, or tap it, to react, reply or pin it. Type @ to mention someone. Write ' +
    '*bold*, _italic_, ~strike~ or `code`, and begin lines with > to quote or with - for a list.'
  const second = await cleo.messages.send({ channelId, text: tips, clientId: 'seed-welcome-2' })
  await cleo.messages.send({
    channelId,
    text: 'Then take Ben offline with the switch above, write a few lines, and bring Ben back.',
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

// Each word starts with the last letter of the one before.
const words =
  `apple elephant tiger rainbow window water river rabbit table eagle emerald dolphin nest tomato
  orange engine echo olive east train night turtle earth honey yellow walnut tulip piano ocean
  needle evening garden notebook kettle envelope eleven nectar ruby yarn north hammer raven
  nutmeg guitar rocket tango oasis sunrise easel lantern narwhal lemon nine elbow wagon nickel
  lily yonder rhythm melon net tea anchor rose ember`
    .trim()
    .split(/\s+/)
