import { isLargeChannel } from '../../features/channels/access.ts'
import type { CommandOf, ReplyResults } from '../protocol/codec.ts'
import { errors } from '../protocol/codes.ts'
import type { Client } from '../subscriber-survey.ts'
import type { Connection } from './index.ts'

type PresenceCommand = CommandOf<'presence'> | CommandOf<'presence_stats'>

/** Answers who is subscribed to a topic. */
export async function presence(connection: Connection, command: PresenceCommand) {
  const { node } = connection
  const { channel } = command.request
  const [grant] = await node.hub.authorise(connection, [channel])
  if (!grant) return connection.replyError(command, errors.permissionDenied)
  // The subscribers of a large channel are not shown, as everywhere else.
  if (isLargeChannel({ memberCount: grant.memberCount ?? 0 }))
    return connection.replyError(command, errors.notAvailable)
  const clients = await node.clientsOf(channel)
  const { id } = command
  if (command.name === 'presence') connection.reply({ id, presence: presenceOf(clients) })
  else connection.reply({ id, presence_stats: statsOf(clients) })
}

const presenceOf = (clients: Client[]): ReplyResults['presence'] => {
  if (clients.length === 0) return {}
  return { presence: Object.fromEntries(clients.map((each) => [each.client, each])) }
}

const statsOf = (clients: Client[]): ReplyResults['presence_stats'] => {
  if (clients.length === 0) return {}
  const users = new Set(clients.map(({ user }) => user))
  return { num_clients: clients.length, num_users: users.size }
}
