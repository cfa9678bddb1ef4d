import type { EphemeralEvent } from '@parley/server/core/event-bus'
import { createRevocations } from '@parley/server/core/revocations'
import type { NodeNote } from '@parley/server/realtime/broker/index'
import { createDispatcher } from '@parley/server/realtime/dispatcher'
import type { MissedProfiles } from '@parley/server/realtime/fanout/missed-profiles'
import type { KnownPresence } from '@parley/server/realtime/presence/known'
import { type Session, Sessions } from '@parley/server/realtime/sessions'
import type { Emulation } from '@parley/server/realtime/sockets/emulation'
import type { SubscriberSurvey } from '@parley/server/realtime/subscriber-survey'
import type { UnreadNotifier } from '@parley/server/realtime/unread/index'
import { channelId, chat, openHub } from '../hub/fixture.ts'
import { ana } from './fixture.ts'

export const TYPING_MS = 6_000
export const typing = (type: 'typing.start' | 'typing.stop'): EphemeralEvent => ({
  kind: 'event',
  topic: chat,
  type,
  payload: { channelId, userId: 'ben', user: { id: 'ben', name: 'ben', image: null } },
})

export const announcer = { id: 'node', number: 1 }

/** A dispatcher with a session of ana's, and what it sends and calls. */
export async function openDispatcher({ hasPeers = false, isFanoutNewest = true } = {}) {
  const { hub, memory } = await openHub()
  const sessions = new Sessions()
  const closed: number[] = []
  const session: Session = {
    ...ana,
    generation: 0,
    topics: [chat],
    close: ({ code }) => void closed.push(code),
  }
  sessions.add(session)
  const sent: NodeNote[] = []
  const calls: unknown[][] = []
  const noting =
    (name: string) =>
    (...given: unknown[]) =>
      void calls.push([name, ...given])
  const unread = {
    markDirty: noting('markDirty'),
    markOwn: noting('markOwn'),
    receive: noting('receive'),
    memberLeft: noting('memberLeft'),
    channelDeleted: noting('channelDeleted'),
    recordCount: noting('recordCount'),
    recordTotal: noting('recordTotal'),
  }
  const revocations = createRevocations()
  const events: number[] = []
  const dispatcher = createDispatcher({
    hub,
    sessions,
    emulation: {} as unknown as Emulation, // not called here
    survey: {} as unknown as SubscriberSurvey, // the same
    revocations,
    unread: unread as unknown as UnreadNotifier, // what the dispatcher calls of it
    userFanout: {
      presenceChanged: noting('presenceChanged'),
      profileChanged: noting('profileChanged'),
      copyMissed: async () => {},
      channelUpdated: (topic, offset, { announcer } = {}) =>
        void calls.push(['channelUpdated', topic, offset, ...(announcer ? [announcer.id] : [])]),
      receive: (note) => {
        calls.push(['receiveFanout', note])
        return isFanoutNewest
      },
      withAnnouncer: (change) => ({ ...change, announcer }),
      isOutdated: ({ failed }) => failed !== undefined,
      stop: async () => {},
    },
    // what the dispatcher calls of it
    presence: { handleOfflineElsewhere: noting('handleOfflineElsewhere') },
    knownPresence: {
      record: noting('recordPresence'),
      recordSent: noting('recordSent'),
    } as unknown as KnownPresence,
    missedProfiles: { record: noting('recordProfile') } as unknown as MissedProfiles, // the same
    broker: {
      start: async () => {},
      stop: async () => {},
      send: (note) => void sent.push(note),
      follow: () => {},
      unfollow: () => {},
      settled: () => undefined,
      hasPeers: () => hasPeers,
    },
    // its counter
    metrics: { events: { inc: (count: number) => void events.push(count) } } as never,
    typingMs: TYPING_MS,
    report: noting('report'),
  })
  return { dispatcher, hub, memory, revocations, closed, sent, calls, events }
}
