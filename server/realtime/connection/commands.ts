import { limits } from '@parley/contract'
import type { Subscribed } from '../hub.ts'
import type { Command, CommandOf, Results } from '../protocol/codec.ts'
import { closings, errors, type ProtocolError } from '../protocol/codes.ts'
import type { Connection } from './index.ts'

/** The client asks to be refused (error 112) rather than started anew when what it missed is no longer kept. */
const REJECT_UNRECOVERED = 2

/** Carries out the next command of a connection, or the next subscribes in a row. */
export async function handleCommands(connection: Connection, commands: Command[]) {
  const [command] = commands
  if (!command || command.name === 'pong' || command.name === 'send') return
  if (command.name === 'connect') return connect(connection, command)
  if (connection.stage === 'new') return connection.close(closings.badRequest)
  const subscribes = commands.filter((each) => each.name === 'subscribe')
  if (subscribes.length > 0) return subscribe(connection, subscribes)
  if (command.name === 'unsubscribe') return unsubscribe(connection, command)
  if (command.name === 'refresh') return refresh(connection, command)
  if (command.name === 'history') return history(connection, command)
  if (command.name === 'presence' || command.name === 'presence_stats')
    return presence(connection, command)
  if (command.name === 'sub_refresh' && connection.subscriptions.has(command.request.channel))
    return connection.reply({ id: command.id, sub_refresh: {} })
  // Clients write through REST.
  connection.refuse(
    command,
    command.name === 'publish' || command.name === 'sub_refresh'
      ? errors.permissionDenied
      : errors.notAvailable,
  )
}

async function connect(connection: Connection, { id, request: { token } }: CommandOf<'connect'>) {
  const { node } = connection
  if (connection.stage !== 'new' || token === '') return connection.close(closings.badRequest)
  const claims = await node.tokens.verify('ws', token)
  if (claims === 'invalid') return connection.close(closings.invalidToken)
  if (claims === 'expired') {
    connection.reply({ id, error: errors.tokenExpired })
    connection.stage = 'refused'
    return
  }
  if (isClosed(connection)) return
  connection.begin(claims)
  // Known to this node before the look at the token's generation, so that no revocation slips in between.
  if ((await node.arrived(connection)) !== claims.generation)
    return connection.close(closings.invalidToken)
  const data = { appId: claims.appId, userId: claims.userId, userTopic: connection.ownTopic }
  const { pingMs } = node.timings
  connection.reply({
    id,
    connect: {
      client: connection.id,
      version: limits.apiVersion,
      ...expiry(claims),
      data,
      ping: Math.max(1, Math.round(pingMs / 1000)),
      pong: true,
      node: node.nodeId,
    },
  })
}

const expiry = ({ expiresAt }: { expiresAt: number }) => ({
  expires: true as const,
  ttl: Math.max(1, Math.round(expiresAt - Date.now() / 1000)),
})

async function subscribe(connection: Connection, commands: CommandOf<'subscribe'>[]) {
  const { node, subscriptions } = connection
  const wanted = new Map<string, CommandOf<'subscribe'>>()
  const refusals = new Map<CommandOf<'subscribe'>, ProtocolError>()
  for (const command of commands) {
    const { channel } = command.request
    if (subscriptions.has(channel) || wanted.has(channel))
      refusals.set(command, errors.alreadySubscribed)
    else if (subscriptions.size + wanted.size >= limits.realtime.topicsPerSocket)
      refusals.set(command, errors.limitExceeded)
    else wanted.set(channel, command)
  }
  const requests = [...wanted.values()].map(({ request: { channel, recover, epoch, offset } }) => ({
    topic: channel,
    recover: recover ? { epoch, offset } : null,
  }))
  for (const topic of wanted.keys()) connection.joining.add(topic)
  const answers = await node.hub.subscribe(connection, requests).catch((error: unknown) => {
    node.report(error, 'could not subscribe')
    return undefined
  })
  connection.joining.clear()
  const byTopic = new Map(requests.map(({ topic }, index) => [topic, answers?.[index] ?? null]))
  for (const command of commands) {
    const refusal = refusals.get(command) ?? (answers ? undefined : errors.internal)
    if (refusal) connection.refuse(command, refusal)
    else answer(connection, command, byTopic.get(command.request.channel) ?? null)
  }
}

function answer(
  connection: Connection,
  command: CommandOf<'subscribe'>,
  subscribed: Subscribed | null,
) {
  const { id, request } = command
  if (!subscribed) return connection.refuse(command, errors.permissionDenied)
  const { subscription, position, wasRecovered, publications } = subscribed
  // Ended while it was being answered: asking again tells why.
  if (subscription.isOver) return connection.refuse(command, errors.internal)
  const isRejected = request.recover && !wasRecovered && (request.flag & REJECT_UNRECOVERED) !== 0
  if (isRejected || isClosed(connection)) {
    subscription.leave()
    return connection.refuse(command, errors.unrecoverablePosition)
  }
  connection.subscriptions.set(request.channel, subscription)
  connection.reply({
    id,
    subscribe: {
      recoverable: true,
      positioned: true,
      epoch: position.epoch,
      ...offsetOf(position.offset),
      ...(request.recover ? { was_recovering: true } : {}),
      ...(wasRecovered ? { recovered: true, publications } : {}),
    },
  })
  subscribed.release()
}

function unsubscribe(
  connection: Connection,
  { id, request: { channel } }: CommandOf<'unsubscribe'>,
) {
  connection.subscriptions.get(channel)?.leave()
  connection.subscriptions.delete(channel)
  connection.reply({ id, unsubscribe: {} })
}

async function refresh(connection: Connection, command: CommandOf<'refresh'>) {
  const { node, appId, userId } = connection
  const claims = await node.tokens.verify('ws', command.request.token)
  if (claims === 'expired') return connection.refuse(command, errors.tokenExpired)
  if (claims === 'invalid' || claims.appId !== appId || claims.userId !== userId)
    return connection.close(closings.invalidToken)
  if ((await node.generation(claims)) !== claims.generation)
    return connection.close(closings.invalidToken)
  if (isClosed(connection)) return
  connection.expireAt(claims.expiresAt)
  connection.reply({
    id: command.id,
    refresh: { client: connection.id, version: limits.apiVersion, ...expiry(claims) },
  })
}

async function history(connection: Connection, command: CommandOf<'history'>) {
  const { channel, limit, since, reverse } = command.request
  const [grant] = await connection.node.hub.look(connection, [channel])
  if (!grant) return connection.refuse(command, errors.permissionDenied)
  const { epoch, top } = grant
  if (since && since.epoch !== '' && since.epoch !== epoch)
    return connection.refuse(command, errors.unrecoverablePosition)
  const publications =
    limit === 0
      ? []
      : await connection.node.hub.log.history(channel, {
          after: since?.offset ?? null,
          isReverse: reverse,
          limit,
        })
  connection.reply({
    id: command.id,
    history: { epoch, ...offsetOf(top), ...(publications.length > 0 ? { publications } : {}) },
  })
}

async function presence(
  connection: Connection,
  command: CommandOf<'presence'> | CommandOf<'presence_stats'>,
) {
  const { channel } = command.request
  const [grant] = await connection.node.hub.look(connection, [channel])
  if (!grant) return connection.refuse(command, errors.permissionDenied)
  const connected = await connection.node.connectedTo(channel)
  if (command.name === 'presence')
    return connection.reply({ id: command.id, presence: listed(connected) })
  const users = new Set(connected.map(({ user }) => user))
  connection.reply({
    id: command.id,
    presence_stats:
      connected.length === 0 ? {} : { num_clients: connected.length, num_users: users.size },
  })
}

const listed = (connected: { user: string; client: string }[]): Results['presence'] =>
  connected.length === 0
    ? {}
    : { presence: Object.fromEntries(connected.map((each) => [each.client, each])) }

const offsetOf = (offset: number) => (offset === 0 ? {} : { offset })
// A function, because an await in between may have changed it.
const isClosed = ({ stage }: Connection) => stage === 'closed'
