import type { Handlers, QueuedJob } from '../tasks.ts'
import type { PushTask } from './events.ts'
import type { PushSettings } from './settings.ts'

/**
 * Makes pushes again that an earlier version stored with their texts, which may have been deleted
 * meanwhile. Their fields show the task; all pushes of a job are of one task.
 */
export const resumeEarlier =
  (
    tasks: Pick<Handlers, PushTask>,
    { tenantId }: Pick<PushSettings, 'tenantId'>,
  ): Handlers['push-event'] =>
  async (pushes, context) => {
    const run = async <T extends PushTask>(task: T, [first, ...others]: QueuedJob<T>[]) => {
      if (first) await tasks[task]([first, ...others], { ...context, continueWith: () => {} })
    }
    const messages: QueuedJob<'push-message'>[] = []
    const reactions: QueuedJob<'push-reaction'>[] = []
    const invites: QueuedJob<'push-invite'>[] = []
    for (const { appId, to, payload, transactionId } of pushes) {
      const userIds = [tenantId === undefined ? to : to.slice(tenantId.length + 1)]
      const { channelId = '', invitedBy, reactorId, emoji } = payload
      // The ids of a message's pushes begin with its id.
      const [messageId = ''] = transactionId.split(':', 1)
      if (invitedBy !== undefined) invites.push({ appId, channelId, invitedBy, userIds })
      else if (reactorId !== undefined && emoji !== undefined)
        reactions.push({ appId, messageId, userId: reactorId, emoji })
      else messages.push({ appId, messageId, userIds })
    }
    await run('push-message', messages)
    await run('push-reaction', reactions)
    await run('push-invite', invites)
  }
