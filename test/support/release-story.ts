import { createApi } from '@parley/client/api'

const MESSAGES = 40

/** Plays the actions of a few users on the server of a release; `data.sql` has the results. */
export async function playStory({ url, adminKey }: { url: string; adminKey: string }) {
  const { apiKey } = await createApi({ url, adminKey }).apps.create({ name: 'Released' })
  const backend = createApi({ url, apiKey })
  const as = async (userId: string, name: string) => {
    const { token } = await backend.tokens.create({ userId, name })
    return createApi({ url, token })
  }
  const ana = await as('ana', 'Ana')
  const ben = await as('ben', 'Ben')
  const cleo = await as('cleo', 'Cleo')
  const dan = await as('dan', 'Dan')

  const { id: channelId } = await ana.channels.create({
    ...{ type: 'group', name: 'Kitchen', description: 'About soup' },
    memberIds: ['ben', 'cleo', 'dan'],
  })
  const direct = await ana.channels.create({ type: 'messaging', memberIds: ['ben'] })
  const gardening = await ben.channels.create({ type: 'public', name: 'Gardening' })

  const text = 'Soup today? https://example.com/soup'
  const { id: firstId } = await ana.messages.send({ channelId, text })
  await ana.reads.mark({ channelId })
  const answer = await ben.messages.send({ channelId, text: 'Yes @ana', clientId: 'c-2' })
  await cleo.messages.send({ channelId, text: 'Which one?', parentId: firstId })
  await dan.messages.send({ channelId, text: 'Not for me', quotedMessageId: firstId })
  const authors = [ana, ben, cleo]
  for (let index = 0; index < MESSAGES; index += 1)
    await authors[index % authors.length]?.messages.send({ channelId, text: `Message ${index}` })
  for (const author of [ben, ana]) {
    const { id: messageId } = await author.messages.send({ channelId, text: 'A mistake' })
    await author.messages.delete({ channelId, messageId })
  }
  await ana.messages.send({ channelId, text: 'The last one' })
  await ben.messages.edit({ channelId, messageId: answer.id, text: 'Yes, of course @ana' })
  await ben.reactions.add({ channelId, messageId: firstId, emoji: '👍' })
  await ben.pins.pin({ channelId, messageId: firstId })
  await ana.channels.updateSettings({ channelId, starred: true, muted: true })
  await ben.reads.mark({ channelId, messageId: answer.id })
  await cleo.reads.mark({ channelId })

  await ben.messages.send({ channelId: direct.id, text: 'Hello Ana' })
  await cleo.members.join({ channelId: gardening.id })
  await cleo.messages.send({ channelId: gardening.id, text: 'Roses' })

  const { id: workspaceId } = await ana.workspaces.create({ name: 'Team', type: 'team' })
  const { token } = await ana.invites.create({ workspaceId, maxUses: 1 })
  await ben.invites.accept({ token })
  const plans = await ana.channels.create({ type: 'team', name: 'Plans', workspaceId })
  await ana.messages.send({ channelId: plans.id, text: 'For the team' })

  await ben.devices.create({ platform: 'ios', provider: 'apns', token: 'phone-of-ben' })
  await backend.users.delete({ userId: 'dan' })
}
