import { contract } from '@parley/contract'
import { type Implements, implementWithoutTransaction } from '../../core/operation.ts'
import { requireApp } from '../apps/view.ts'
import { listUsers } from '../users/list.ts'
import { selectListedById } from '../users/view.ts'
import { deliveriesOf } from '../webhooks/deliveries.ts'
import { selectWebhooks } from '../webhooks/view.ts'
import { channels } from './channels.ts'
import { messages } from './messages.ts'
import { notifications } from './notifications.ts'

const users = implementWithoutTransaction(
  contract.inspect.users,
  async ({ db }, { appId, userId, ...page }) => {
    await requireApp(db, appId)
    if (userId === undefined) return listUsers(db, { appId, offset: 0, ...page })
    const users = await selectListedById(db, { appId, ids: db`array[${userId}]` })
    return { users, nextCursor: null }
  },
)

const webhooks = implementWithoutTransaction(
  contract.inspect.webhooks,
  async ({ db }, { appId }) => {
    await requireApp(db, appId)
    return { webhooks: await selectWebhooks(db, appId) }
  },
)

const deliveries = implementWithoutTransaction(
  contract.inspect.deliveries,
  async ({ db }, { appId, ...page }) => {
    await requireApp(db, appId)
    return deliveriesOf(db, { appId, ...page })
  },
)

export const inspect = {
  users,
  notifications,
  channels,
  messages,
  webhooks,
  deliveries,
} satisfies Implements<'inspect'>
