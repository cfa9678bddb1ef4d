import { limits } from '@parley/contract'
import { AdmissionError } from '../../core/admission.ts'
import type { ClientCommand, CommandOf } from '../protocol/codec.ts'
import { closings, errors, type ProtocolError } from '../protocol/codes.ts'
import { identify, nameRefused } from '../sockets/counted-socket.ts'
import type { Subscribed } from '../topic/subscribed.ts'
import type { Connection } from './index.ts'
import { presence } from './presence.ts'

/** Flag: fail with 112 instead of subscribing without recovery. */
const REJECT_UNRECOVERED = 2

type SubscribeCommand = CommandOf<'subscribe'>

/** Handles commands; answers those that were not admitted. */
export async function handleCommands(connection: Connection, commands: ClientCommand[]) {
  try {
    await handle(connection, commands)
  } catch (error) {
    if (!(error instanceof AdmissionError)) throw error
    for (const command of commands) {
      // Without the generation, it is unknown whether the token is still good.
      if (command.name === 'connect') return connection.close(closings.tooManyRequests)
      connection.replyError(command, errors.tooManyRequests)
    }
  }
}

async function handle(connection: Connection, commands: ClientCommand[]) {
  const [command] = commands
  if (!command || command.name === 'pong') return
  if (command.name === 'connect') return connect(connection, command)
  if (connection.stage === 'new') return connection.close(closings.badRequest)
  switch (command.name) {
    case 'send':
      return
    case 'subscribe':
      return subscribe(
        connection,
        commands.filter((each) => each.name === 'subscribe'),
      )
    case 'unsubscribe':
      return unsubscribe(connection, command)
    case 'refresh':
      return refresh(connection, command)
    case 'history':
    case 'presence':
    case 'presence_stats':
      // Replies to earlier commands of the frame may have used up the credit.
      if (connection.credit.isUsedUp) return connection.replyError(command, errors.tooManyRequests)
      return command.name === 'history'
        ? history(connection, command)
        : presence(connection, command)
    case 'sub_refresh':
      return refreshSubscription(connection, command)
    case 'publish':
      // Clients write over REST.
      return connection.replyError(command, errors.permissionDenied)
    default:
      return connection.replyError(command, errors.notAvailable)
  }
}

async function connect(connection: Connection, { id, request: { token } }: CommandOf<'connect'>) {
  const { node } = connection
  if (connection.stage !== 'new' || token === '') return connection.close(closings.badRequest)
  const claims = await node.tokens.verify('ws', token)
  if ('refusal' in claims) {
    nameRefused(connection.socket, claims.user)
    if (claims.refusal === 'invalid') return connection.close(closings.invalidToken)
    connection.reply({ id, error: errors.tokenExpired })
    connection.stage = 'rejected'
    return
  }
  if (isClosed(connection)) return
  if (!node.userSockets.take(claims)) {
    nameRefused(connection.socket, claims)
    return connection.close(closings.tooManySockets)
  }
  connection.begin(claims)
  identify(connection.socket, claims)
  // Registered before the token's generation is read, so that no revocation is missed in between.
  const generation = await node.register(connection)
  if (generation !== claims.generation) return connection.close(closings.invalidToken)
  const { appId, userId } = claims
  connection.reply({
    id,
    connect: {
      client: connection.id,
      version: limits.apiVersion,
      ...expiryOf(claims),
      data: { appId, userId, userTopic: connection.userTopic },
      ping: Math.max(1, Math.round(node.timings.pingMs / 1000)),
      pong: true,
      node: node.nodeId,
      ...(connection.socket.sessionId && { session: connection.socket.sessionId }),
    },
  })
}

const expiryOf = ({ expiresAt }: { expiresAt: number }) => ({
  expires: true as const,
  ttl: Math.max(1, Math.round(expiresAt - Date.now() / 1000)),
})

async function subscribe(connection: Connection, commands: SubscribeCommand[]) {
  const { node } = connection
  const { accepted, rejected } = checkSubscribes(connection, commands)
  const requests = accepted.map(({ request: { channel, recover, epoch, offset } }) => ({
    topic: channel,
    recover: recover ? { epoch, offset } : null,
  }))
  connection.joining = requests.map(({ topic }) => topic)
  let failure: ProtocolError = errors.internal
  const results = await node.hub.subscribe(connection, requests).catch((error: unknown) => {
    if (error instanceof AdmissionError) failure = errors.tooManyRequests
    else node.report(error, 'subscribe failed')
    return undefined
  })
  connection.joining = []
  const byTopic = new Map(requests.map(({ topic }, index) => [topic, results?.[index] ?? null]))
  for (const command of commands) {
    const error = rejected.get(command) ?? (results ? undefined : failure)
    if (error) connection.replyError(command, error)
    else replySubscribe(connection, command, byTopic.get(command.request.channel) ?? null)
  }
}

/** Splits subscribes into those for the hub and those rejected at once. */
function checkSubscribes({ subscriptions }: Connection, commands: SubscribeCommand[]) {
  const accepted = new Map<string, SubscribeCommand>()
  const rejected = new Map<SubscribeCommand, ProtocolError>()
  for (const command of commands) {
    const { channel } = command.request
    // Joins and leaves of subscriptions are not sent.
    if (command.request.join_leave) rejected.set(command, errors.notAvailable)
    else if (subscriptions.has(channel) || accepted.has(channel))
      rejected.set(command, errors.alreadySubscribed)
    else if (subscriptions.size + accepted.size >= limits.realtime.topicsPerSocket)
      rejected.set(command, errors.limitExceeded)
    else accepted.set(channel, command)
  }
  return { accepted: [...accepted.values()], rejected }
}

function replySubscribe(
  connection: Connection,
  command: SubscribeCommand,
  subscribed: Subscribed | null,
) {
  const { id, request } = command
  if (!subscribed) return connection.replyError(command, errors.permissionDenied)
  const { subscription, position, wasRecovered, publications } = subscribed
  // It ended while the command was handled. The client retries, and that reply says why.
  if (subscription.isOver) return connection.replyError(command, errors.internal)
  const mustRecover = request.recover && (request.flag & REJECT_UNRECOVERED) !== 0
  if ((mustRecover && !wasRecovered) || isClosed(connection)) {
    subscription.leave()
    return connection.replyError(command, errors.unrecoverablePosition)
  }
  // Keyed by the topic's own string, so that each socket does not keep a copy of it.
  connection.subscriptions.set(subscription.topic.name, subscription)
  connection.node.subscribed(connection, request.channel)
  connection.reply({
    id,
    subscribe: {
      recoverable: true,
      positioned: true,
      epoch: position.epoch,
      ...offsetField(position.offset),
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
  if ('refusal' in claims && claims.refusal === 'expired')
    return connection.replyError(command, errors.tokenExpired)
  if ('refusal' in claims || claims.appId !== appId || claims.userId !== userId)
    return connection.close(closings.invalidToken)
  const generation = await node.generation(claims)
  if (generation !== claims.generation) return connection.close(closings.invalidToken)
  if (isClosed(connection)) return
  connection.renew(claims)
  connection.reply({
    id: command.id,
    refresh: { client: connection.id, version: limits.apiVersion, ...expiryOf(claims) },
  })
}

/** Subscriptions do not expire, so there is nothing to refresh. */
function refreshSubscription(connection: Connection, command: CommandOf<'sub_refresh'>) {
  if (!connection.subscriptions.has(command.request.channel))
    return connection.replyError(command, errors.permissionDenied)
  connection.reply({ id: command.id, sub_refresh: {} })
}

async function history(connection: Connection, command: CommandOf<'history'>) {
  const { hub } = connection.node
  const { channel, limit, since, reverse } = command.request
  const [grant] = await hub.authorise(connection, [channel])
  if (!grant) return connection.replyError(command, errors.permissionDenied)
  const { epoch, lastOffset } = grant
  if (since && since.epoch !== '' && since.epoch !== epoch)
    return connection.replyError(command, errors.unrecoverablePosition)
  // Up to the position at which the right was read: the events are read later.
  const range = { after: since?.offset ?? null, upTo: lastOffset, isReverse: reverse, limit }
  const read = () => connection.node.admit(connection, () => hub.log.history(channel, range))
  const publications = limit === 0 ? [] : await read()
  connection.reply({
    id: command.id,
    history: {
      epoch,
      ...offsetField(lastOffset),
      ...(publications.length > 0 ? { publications } : {}),
    },
  })
}

/** The protocol leaves out an offset of zero. */
const offsetField = (offset: number) => (offset === 0 ? {} : { offset })
// A function, because the stage may have changed during an await.
const isClosed = ({ stage }: Connection) => stage === 'closed'
