import { createChatServer } from '@parley/client/server'
import { type EventPattern, limits } from '@parley/contract'
import type { Big, Operations } from './operation.ts'

/** The operations that only a backend runs, or runs seldom. */
export async function ofBackends(big: Big): Promise<Operations> {
  const { backend, ben, world, webhook, unique } = big
  const { url, apiKey } = world
  const imported = createChatServer({ url, apiKey })
  const inWebhook = { webhookId: webhook }
  const events: EventPattern[] = ['workspace.removed']
  const target = { url: 'https://example.com', events }
  const [delivery] = (await backend.webhooks.deliveries({ ...inWebhook, limit: 1 })).deliveries
  const createdAt = '2024-05-01T09:00:00.000Z'
  const page = await backend.webhooks.deliveries({ ...inWebhook, limit: 50 })
  return {
    'service.live': { returned: 1, run: () => backend.service.live({}) },
    'abandoned.channels': {
      returned: 1,
      beside: 4 * limits.abandoned.slice,
      run: () => backend.abandoned.channels({}),
    },
    'abandoned.workspaces': {
      returned: 1,
      beside: 4 * limits.abandoned.slice,
      run: () => backend.abandoned.workspaces({}),
    },
    'webhooks.create and webhooks.delete': {
      returned: 2,
      run: async () => {
        const { id: webhookId } = await backend.webhooks.create(target)
        await backend.webhooks.delete({ webhookId })
      },
    },
    'webhooks.list': { returned: 1, run: () => backend.webhooks.list({}) },
    'webhooks.update': {
      returned: 1,
      run: () => backend.webhooks.update({ ...inWebhook, description: unique() }),
    },
    'webhooks.rotate': { returned: 1, run: () => backend.webhooks.rotate(inWebhook) },
    'webhooks.test': { returned: 1, run: () => backend.webhooks.test(inWebhook) },
    'webhooks.deliveries': {
      returned: 50,
      run: () => backend.webhooks.deliveries({ ...inWebhook, limit: 50 }),
    },
    'webhooks.deliveries, cursor': {
      returned: 50,
      run: () =>
        backend.webhooks.deliveries({ ...inWebhook, limit: 50, cursor: page.nextCursor ?? '' }),
    },
    'webhooks.retry': {
      returned: 1,
      run: () => backend.webhooks.retry({ ...inWebhook, deliveryId: delivery?.id ?? '' }),
    },
    'webhooks.replay': {
      returned: 1,
      run: () =>
        backend.webhooks.replay({
          ...inWebhook,
          since: new Date(Date.now() - 60_000).toISOString(),
        }),
    },
    'hooks.setBeforeSend, hooks.getBeforeSend and hooks.deleteBeforeSend': {
      returned: 3,
      run: async () => {
        await backend.hooks.setBeforeSend({ url: target.url, onError: 'allow' })
        await backend.hooks.getBeforeSend({})
        await backend.hooks.deleteBeforeSend({})
      },
    },
    'hooks.setBeforeSend and hooks.rotateBeforeSend': {
      returned: 2,
      run: async () => {
        await backend.hooks.setBeforeSend({ url: target.url, onError: 'allow' })
        await backend.hooks.rotateBeforeSend({})
      },
    },
    'imports.run': {
      returned: 3,
      run: () => {
        const id = unique()
        const channel = { type: 'group', name: 'Old', createdAt } as const
        return imported.imports.run([
          { record: 'channel', id, ...channel },
          { record: 'member', channelId: id, userId: 'ben', joinedAt: createdAt },
          { record: 'message', id, channelId: id, userId: 'ben', text: 'hi', createdAt },
        ])
      },
    },
    // These are followed by a pass of the cleanup.
    'channels.delete after channels.create': cleaned(big, async () => {
      const { id: channelId } = await ben.channels.create({ type: 'group', name: 'Short' })
      await ben.channels.delete({ channelId })
    }),
    'abandoned.deleteChannel': cleaned(big, async () => {
      const { id: channelId } = await ben.channels.create({ type: 'group', name: 'Short' })
      await ben.members.leave({ channelId })
      await backend.abandoned.deleteChannel({ channelId })
    }),
    'abandoned.deleteWorkspace': cleaned(big, async () => {
      const { id: workspaceId } = await ben.workspaces.create({ name: 'Short', type: 'team' })
      await ben.workspaces.removeMember({ workspaceId, userId: 'ben' })
      await backend.abandoned.deleteWorkspace({ workspaceId })
    }),
    'users.delete': cleaned(big, async () => {
      const userId = unique()
      await backend.users.put({ userId, name: 'Guest' })
      await backend.users.delete({ userId })
    }),
    'users.bulkDelete': cleaned(big, async () => {
      const userIds = [unique(), unique()]
      for (const userId of userIds) await backend.users.put({ userId, name: 'Guest' })
      await backend.users.bulkDelete({ userIds })
    }),
  }
}

/** An operation with the pass of the cleanup that it wakes. */
const cleaned = ({ world }: Big, operation: () => Promise<void>) => ({
  returned: 4,
  times: 4,
  run: async () => {
    await operation()
    await world.cleanup.run()
  },
})
