import { parseTopic } from '@parley/contract'
import type { EphemeralEvent, EphemeralNote, EventPublisher } from '../core/event-bus.ts'
import type { Metrics } from '../core/metrics.ts'
import type { Revocations } from '../core/revocations.ts'
import { type UserRef, userKey } from '../core/user-ref.ts'
import type { Broker, NodeNote, PresenceNote, RevokedNote } from './broker/index.ts'
import type { UserFanout } from './fanout/index.ts'
import type { MissedProfiles } from './fanout/missed-profiles.ts'
import { fanoutsIn, type NodeFanout } from './fanout/notes.ts'
import { applyHint, hintOf, sentHint, withAnnouncer } from './hints.ts'
import type { Hub } from './hub.ts'
import type { PresenceTracker } from './presence/index.ts'
import type { KnownPresence } from './presence/known.ts'
import { closings } from './protocol/codes.ts'
import type { Sessions } from './sessions.ts'
import type { Emulation } from './sockets/emulation.ts'
import type { SubscriberSurvey } from './subscriber-survey.ts'
import { TypingTracker } from './typing-tracker.ts'
import type { UnreadNotifier } from './unread/index.ts'

type DispatcherOptions = {
  hub: Hub
  userFanout: UserFanout
  presence: Pick<PresenceTracker, 'handleOfflineElsewhere'>
  knownPresence: KnownPresence
  missedProfiles: MissedProfiles
  unread: UnreadNotifier
  sessions: Sessions
  emulation: Emulation
  survey: SubscriberSurvey
  broker: Broker
  revocations: Revocations
  metrics: Pick<Metrics, 'events'>
  typingMs: number
  report: (error: unknown, problem: string) => void
}

/**
 * Dispatches what this node's operations publish, to its own users and to the other nodes, and what
 * other nodes send, to its own users.
 */
export function createDispatcher(options: DispatcherOptions) {
  const { hub, userFanout, knownPresence, unread, sessions, emulation, survey } = options
  const { broker, metrics, report } = options
  const typing = new TypingTracker(
    (stop, { isOwn }) => (isOwn ? broadcast(stop) : receive(stop)),
    options.typingMs,
  )
  const revocations = followRevocations(options)

  /** Applies a note to the users of this node. */
  const apply = (note: NodeNote) => {
    switch (note.kind) {
      case 'hint':
        hub.receive(note)
        // Nodes of earlier versions do not count for others.
        return applyHint(note, {
          unread,
          userFanout,
          onCounted: (...given) => unread.markOwn(...given),
        })
      case 'event':
        hub.broadcast([note.topic], note, note.onlyFor)
        return trackCounts(unread, note)
      case 'profile':
        if (userFanout.isOutdated(note)) return
        options.missedProfiles.record(note)
        return userFanout.profileChanged(note)
      case 'presence':
        if (userFanout.isOutdated(note)) return
        knownPresence.record(note)
        return userFanout.presenceChanged(note)
      case 'fanout':
        return fanoutsIn(note).forEach(receiveFanout)
      case 'counts':
        return unread.receive(note)
      case 'revoked':
        return revocations.receive(note)
      case 'rights':
        return recheck(note)
      case 'rewritten':
        return hub.forgetEvents(note.topic)
      case 'commands':
        return emulation.handleCommands(note)
      case 'accepted':
        return emulation.handleAccepted(note)
      case 'survey':
        return survey.handleSurvey(note)
      case 'surveyed':
        return survey.handleSurveyed(note)
    }
  }
  const receiveFanout = (received: NodeFanout) => {
    const { appId, event } = received.fanout
    if (!userFanout.receive(received)) return
    if (event.type === 'presence.online' || event.type === 'presence.offline')
      knownPresence.recordSent({ ...event.payload, appId }, event.type === 'presence.online')
  }
  /** Handles a note from another node. */
  const receive = (note: NodeNote) => {
    if (note.kind === 'event' && !typing.track(note, { isOwn: false })) return
    apply(note)
    if (note.kind === 'presence' && !note.isOnline) options.presence.handleOfflineElsewhere(note)
  }
  const broadcast = (note: EphemeralNote) => {
    if (note.kind === 'event' && !typing.track(note, { isOwn: true })) {
      // With Redis, a node knows only those typists who began while it had the topic.
      const topic = hub.topics.get(note.topic)
      const openMs = topic ? performance.now() - topic.openedAt : 0
      if (openMs < options.typingMs) broker.send(note)
      return
    }
    announce(note.kind === 'profile' ? userFanout.withAnnouncer(note) : note)
  }
  const announce = (note: NodeNote) => {
    apply(note)
    broker.send(note)
  }
  const publish: EventPublisher['publish'] = (events) => {
    metrics.events.inc(events.length)
    hub.publish(events)
    for (const event of events) {
      const hint = withAnnouncer(hintOf(event), options)
      applyHint(hint, { unread, userFanout, onCounted: (...given) => unread.markDirty(...given) })
      broker.send(sentHint(hint, { event, broker }))
    }
  }
  /** Users whose subscriptions could not be checked. */
  const unchecked = new Map<string, UserRef>()
  /** Ends the user's subscriptions, pending ones included, to topics that they may not read. */
  const recheck = (user: UserRef) => {
    const names = new Set(sessions.of(user).flatMap(({ topics }) => [...topics]))
    hub.recheck(user, [...names]).catch((error) => {
      unchecked.set(userKey(user), user)
      report(error, 'subscription recheck failed')
    })
  }
  const recheckFailed = () => {
    const users = [...unchecked.values()]
    unchecked.clear()
    users.forEach(recheck)
  }
  const stop = () => {
    revocations.stop()
    typing.stop()
  }
  return {
    publisher: { broadcast, publish },
    /** The presence of a user of this node has changed. */
    presenceChanged: (change: PresenceNote) => announce(userFanout.withAnnouncer(change)),
    receive,
    recheck,
    /** Repeats the rechecks that have failed since the last time. */
    recheckFailed,
    stop,
  }
}

/** Operations also send users their counts, which the unread notifier has to know. */
function trackCounts(unread: UnreadNotifier, event: EphemeralEvent) {
  const { topic, type, payload, snapshot = Number.NaN } = event
  const user = parseTopic(topic)
  if (user?.kind !== 'user') return
  if (type === 'channel.deleted') unread.memberLeft(user)
  if (type === 'channel.unread_changed') unread.recordCount(user, { ...payload, snapshot })
  if (type === 'channel.total_unread_changed') unread.recordTotal(user, payload.count)
}

/**
 * Closes the sockets of users whose tokens are revoked, and sends revocations to the other nodes.
 * A revocation from another node is published to this node's listeners, but not sent back.
 */
function followRevocations({
  hub,
  sessions,
  broker,
  revocations,
}: Pick<DispatcherOptions, 'hub' | 'sessions' | 'broker' | 'revocations'>) {
  let isFromOtherNode = false
  const stop = revocations.subscribe((revoked) => {
    if ('userId' in revoked) {
      // The note may arrive after a connect with a token that is newer.
      const { generation = Number.POSITIVE_INFINITY } = revoked
      for (const session of sessions.of(revoked)) {
        if (session.generation < generation) session.close(closings.forced)
      }
    }
    if ('isClosed' in revoked && revoked.isClosed) {
      for (const session of sessions.ofApp(revoked.appId)) session.close(closings.forced)
      hub.topics.removeOfApp(revoked.appId)
    }
    if (!isFromOtherNode) broker.send({ kind: 'revoked', revoked })
  })
  const receive = ({ revoked }: RevokedNote) => {
    isFromOtherNode = true
    revocations.publish(revoked)
    isFromOtherNode = false
  }
  return { receive, stop }
}
