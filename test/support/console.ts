import { createApi } from '@parley/client/api'
import { ADMIN_KEY } from './secrets.ts'

/** An app with users, channels and messages. */
export async function createConsoleApp(url: string, name: string) {
  const app = await createApi({ url, adminKey: ADMIN_KEY }).apps.create({ name })
  const backend = createApi({ url, apiKey: app.apiKey })
  const { token } = await backend.tokens.create({ userId: 'ana', name: 'Ana Sousa' })
  await backend.tokens.create({ userId: 'ben', name: 'Ben Okafor' })
  await backend.tokens.create({ userId: 'cook-7', name: 'Dana Reyes' })
  const ana = createApi({ url, token })
  const { id: channelId } = await ana.channels.create({
    type: 'public',
    name: 'Soup of the day',
    memberIds: ['ben'],
  })
  await ana.channels.create({ type: 'group', name: 'Kitchen team', memberIds: ['ben'] })
  for (const text of ['Pumpkin today', 'With ginger']) await ana.messages.send({ channelId, text })
  const attachments = [{ type: 'image' as const, url: 'https://example.com/soup.jpg' }]
  await ana.messages.send({ channelId, text: '', attachments, silent: true })
  return { ...app, channelId }
}
