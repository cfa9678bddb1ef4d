import { type Envelope, parseTopic, topics } from '@parley/contract'
import type { UserRef } from '../core/user-ref.ts'
import type { Db } from '../db/client.ts'
import type { PresenceNote, ProfileChange, ToldNote } from './broker.ts'
import { inChunks } from './chunks.ts'
import { coalesce } from './coalesce.ts'
import { eventOf } from './publication.ts'
import type { Sessions } from './sessions.ts'
import { type ConnectedUser, selectCoMembers, selectCopies } from './user-fanout-queries.ts'

/** What sends events to users beyond a topic. */
export type UserFanoutOptions = {
  db: Db
  nodeId: string
  sessions: Sessions
  broadcast: (topics: string[], event: Envelope) => void
  /** Whether users may be connected, to this node or another. */
  isHeard: () => boolean
  report: (error: unknown, problem: string) => void
}
type FanoutOptions = UserFanoutOptions & {
  /** Sends what another node is to tell its users. */
  send: (note: ToldNote) => void
  /** The change could not be sent to the users that it concerns. */
  onPresenceLost: (change: PresenceNote) => void
  onProfileLost: (change: ProfileChange) => void
}

/** How many users one note names. */
const USERS_PER_NOTE = 500

export type UserFanout = ReturnType<typeof createUserFanout>

/**
 * Sends users events in their own topics about what others do. The node where something happened
 * looks up whom it concerns, once, and tells the nodes that they are connected to.
 */
export function createUserFanout(options: FanoutOptions) {
  const { db, nodeId, sessions, broadcast, isHeard, report, send } = options
  const lookUp = (node: string | null) =>
    coalesce<UserRef, ConnectedUser[]>(
      (users) => db.use((db) => selectCoMembers(db, node, users)),
      { maxBatch: 500 },
    )
  const coMembersAnywhere = lookUp(null)
  const coMembersHere = lookUp(nodeId)

  /** Tells users of this node. */
  const tellHere = (appId: string, userIds: Iterable<string>, event: Envelope) =>
    broadcast(
      [...userIds].map((userId) => topics.user(appId, userId)),
      event,
    )
  /** Tells these users, each on the node of the row, and those of `alwaysHere` on this one. */
  const tell = (
    appId: string,
    users: ConnectedUser[],
    { event, alwaysHere = [] }: { event: Envelope; alwaysHere?: string[] },
  ) => {
    const byNode = new Map<string, Set<string>>([[nodeId, new Set(alwaysHere)]])
    for (const { nodeId: node, userId } of users) {
      const known = byNode.get(node) ?? new Set()
      byNode.set(node, known.add(userId))
    }
    for (const [node, userIds] of byNode) {
      if (node === nodeId) tellHere(appId, userIds, event)
      else
        for (const some of inChunks([...userIds], USERS_PER_NOTE))
          send({ kind: 'told', node, appId, userIds: some, event })
    }
  }

  const sendPresence = async (change: PresenceNote, lookUp = coMembersAnywhere) => {
    const { appId, userId, isOnline, lastActiveAt } = change
    tell(appId, await lookUp({ appId, userId }), {
      event: {
        type: isOnline ? 'presence.online' : 'presence.offline',
        payload: { userId, lastActiveAt },
      },
      alwaysHere: [userId],
    })
  }
  const sendProfile = async ({ appId, user }: ProfileChange, lookUp = coMembersAnywhere) =>
    tell(appId, await lookUp({ appId, userId: user.id }), {
      event: { type: 'user.updated', payload: { user } },
      alwaysHere: [user.id],
    })
  const copyToMembers = async (topic: string, offset: number) => {
    const channel = parseTopic(topic)
    if (channel?.kind !== 'chat') return
    const { appId, channelId } = channel
    const rows = await db.use((db) => selectCopies(db, { channelId, topic, offset }))
    const [first] = rows
    if (first) tell(appId, rows, { event: eventOf(first) })
  }

  /** Runs `work` in the background. */
  const run = (work: Promise<void>, onFailure = () => {}) => {
    work.catch((error: unknown) => {
      report(error, 'user fan-out failed')
      onFailure()
    })
  }
  const presenceChanged = (change: PresenceNote) => {
    if (isHeard()) run(sendPresence(change), () => options.onPresenceLost(change))
  }
  const profileChanged = (change: ProfileChange) => {
    if (isHeard()) run(sendProfile(change), () => options.onProfileLost(change))
  }
  return {
    /** Tells the co-members of a user, wherever they are connected. */
    presenceChanged,
    profileChanged,
    /** Tells only those on this node, which may have missed the change. */
    presenceMissed: (change: PresenceNote) => {
      if (sessions.isEmpty) return
      run(sendPresence(change, coMembersHere), () => options.onPresenceLost(change))
    },
    profileMissed: (change: ProfileChange) => {
      if (sessions.isEmpty) return
      run(sendProfile(change, coMembersHere), () => options.onProfileLost(change))
    },
    /** Sends members a copy of a channel's event. */
    channelUpdated: (topic: string, offset: number) => {
      if (isHeard()) run(copyToMembers(topic, offset))
    },
    /** Tells users of this node what another one has found. */
    receive: ({ appId, userIds, event }: ToldNote) => tellHere(appId, userIds, event),
  }
}
