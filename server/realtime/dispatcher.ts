import { parseTopic } from '@parley/contract'
import type { EphemeralEvent, EphemeralNote, EventPublisher } from '../core/event-bus.ts'
import type { Metrics } from '../core/metrics.ts'
import type { Revocations } from '../core/revocations.ts'
import type { Broker, Note } from './broker.ts'
import { applyChange, hintOf } from './hints.ts'
import type { Hub } from './hub.ts'
import { closings } from './protocol/codes.ts'
import type { Sessions, User } from './sessions.ts'
import { TypingTracker } from './typing-tracker.ts'
import type { UnreadNotifier } from './unread.ts'
import type { createUserFanout } from './user-fanout.ts'

type Options = {
  hub: Hub
  audience: ReturnType<typeof createUserFanout>
  unread: UnreadNotifier
  sessions: Sessions
  broker: Broker
  revocations: Revocations
  metrics: Pick<Metrics, 'events'>
  typingMs: number
  report: (error: unknown, problem: string) => void
}

/** Takes in what this node's operations say, which other nodes are told, and what other nodes say. */
export function createDispatcher({
  hub,
  audience,
  unread,
  sessions,
  broker,
  revocations,
  metrics,
  typingMs,
  report,
}: Options) {
  const typists = new TypingTracker((stop) => broadcast(stop), typingMs)
  const revoked = followRevocations({ sessions, broker, revocations })

  /** What a note means for this node's users. */
  const receive = (note: Note, { isOwn }: { isOwn: boolean }) => {
    if (note.kind === 'hint') {
      hub.hear(note.topic, note.offset)
      applyChange(note, { unread, audience })
    } else if (note.kind === 'event') {
      if (!isOwn && !typists.admit(note, { isOwn })) return
      hub.broadcast([note.topic], note, note.onlyFor)
      noteTold(unread, note)
    } else if (note.kind === 'profile') audience.profile(note)
    else if (note.kind === 'presence') audience.presence(note)
    else if (note.kind === 'revoked') revoked.receive(note)
    else recheck(note)
  }
  /** Ends what the user may not hear any more, what he is just being let in to included. */
  const recheck = (user: User) => {
    const names = sessions.of(user).flatMap(({ topics }) => [...topics])
    hub
      .recheck(user, [...new Set(names)])
      .catch((error) => report(error, 'could not judge subscriptions anew'))
  }
  const broadcast = (sent: EphemeralNote) => {
    if (sent.kind === 'event' && !typists.admit(sent, { isOwn: true })) return
    receive(sent, { isOwn: true })
    broker.send(sent)
  }
  const publish: EventPublisher['publish'] = (events) => {
    metrics.events.inc(events.length)
    hub.publish(events)
    for (const event of events) {
      const hint = hintOf(event)
      applyChange(hint, { unread, audience })
      broker.send(hint)
    }
  }
  const stop = () => {
    revoked.stop()
    typists.stop()
  }
  return { publisher: { broadcast, publish }, receive, recheck, stop }
}

/** The unread loop must know what users are told by others. */
function noteTold(unread: UnreadNotifier, { topic, type, payload }: EphemeralEvent) {
  const user = parseTopic(topic)
  if (user?.kind !== 'user') return
  if (type === 'channel.deleted') unread.left(user)
  if (type === 'channel.unread_changed') unread.told(user, payload.channelId, payload.count)
  if (type === 'channel.total_unread_changed') unread.toldTotal(user, payload.count)
}

/** Closes the sockets of those whose tokens are void. What another node has revoked is told to this node's listeners, and must not go back. */
function followRevocations({
  sessions,
  broker,
  revocations,
}: Pick<Options, 'sessions' | 'broker' | 'revocations'>) {
  let isEcho = false
  const stop = revocations.subscribe((revoked) => {
    if ('userId' in revoked)
      for (const session of sessions.of(revoked)) session.close(closings.forced)
    if (!isEcho) broker.send({ kind: 'revoked', revoked })
  })
  const receive = ({ revoked }: Extract<Note, { kind: 'revoked' }>) => {
    isEcho = true
    revocations.publish(revoked)
    isEcho = false
  }
  return { receive, stop }
}
