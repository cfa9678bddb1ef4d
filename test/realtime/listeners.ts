import { ephemeralChannelEvents, ephemeralUserEvents, topics } from '@parley/contract'
import { afterEach, expect } from 'vitest'
import { centrifugeOf, listen, type TopicListener } from '../support/realtime.ts'
import type { User, World } from '../support/world.ts'

/** Clients of this world's users, which are disconnected after each test. */
export function useListeners(world: () => World) {
  const clients: { disconnect(): void }[] = []
  afterEach(() => {
    for (const client of clients.splice(0)) client.disconnect()
  })
  const connect = (user: User, node: { url: string } = world()) => {
    const client = centrifugeOf(node, user)
    clients.push(client)
    return client
  }
  let pairs = 0
  return {
    connect,
    /** The events that a user receives of a topic, from this node or another. */
    listenAs: (user: User, topic: string, node?: { url: string }) =>
      listen(connect(user, node), topic),
    channelTopic: (channelId: string) => topics.channel(world().appId, channelId),
    userTopic: (user: Pick<User, 'id'>) => topics.user(world().appId, user.id),
    /** Two users whom no other test knows. */
    newUsers: () => world().users(`ana${++pairs}`, `ben${pairs}`),
  }
}

/** Makes a group of a user's with these members. */
export async function createGroup(owner: User, ...members: User[]) {
  const memberIds = members.map(({ id }) => id)
  return (await owner.channels.create({ type: 'group', name: 'Talk', memberIds })).id
}

const ephemeralEvents = { ...ephemeralUserEvents, ...ephemeralChannelEvents }

/** The payloads received of an ephemeral type, each checked against the contract. */
export const payloads = ({ received }: TopicListener, type: keyof typeof ephemeralEvents) =>
  received.flatMap(({ envelope, offset }) => {
    if (envelope.type !== type) return []
    expect(offset).toBeUndefined()
    return [ephemeralEvents[type].strict().parse(envelope.payload)]
  })

/** The counts received from an index on, oldest first. */
export const counts = (
  { received }: TopicListener,
  type: 'channel.unread_changed' | 'channel.total_unread_changed',
  from = 0,
) =>
  received
    .slice(from)
    .flatMap(({ envelope }) =>
      envelope.type === type && 'count' in envelope.payload ? [envelope.payload.count] : [],
    )

/** The types of the events received about a user's presence, oldest first. */
export const presenceOf = ({ received }: TopicListener, userId: string) =>
  received.flatMap(({ envelope: { type, payload } }) => {
    const isPresence = type === 'presence.online' || type === 'presence.offline'
    return isPresence && payload.userId === userId ? [type] : []
  })

/** The names that were received of a user, oldest first. */
export const namesOf = ({ received }: TopicListener, userId: string) =>
  received.flatMap(({ envelope: { type, payload } }) =>
    type === 'user.updated' && payload.user.id === userId ? [payload.user.name] : [],
  )
