import { topics } from '@parley/contract'
import { userKey } from '@parley/server/core/user-ref'
import type { Db } from '@parley/server/db/client'
import type { Announcer, NodeNote } from '@parley/server/realtime/broker/index'
import { createUserFanout } from '@parley/server/realtime/fanout/index'
import { Sessions } from '@parley/server/realtime/sessions'
import { vi } from 'vitest'
import { patient } from '../../support/until.ts'
import { appId } from '../hub/fixture.ts'

export const channel = (number: number) =>
  topics.channel(appId, `00000000-0000-4000-8000-${`${number}`.padStart(12, '0')}`)

/** The fan-out of a node on a database whose answers the test gives, in the order of the reads. */
export function openFanout() {
  const sessions = new Sessions()
  sessions.add({ appId, userId: 'ana', generation: 0, topics: [], close: () => {} })
  const reads: Read[] = []
  const sent: number[] = []
  const notes: NodeNote[] = []
  const names: string[] = []
  const problems: string[] = []
  const read = (text: TemplateStringsArray, ...values: unknown[]) => {
    if (!/from (events|recipients)/.test(text.join(''))) return undefined // a part of a statement
    const [, topics = [], offsets] = values.filter(Array.isArray)
    return new Promise((resolve, reject) => {
      const envelope = '{"type":"channel.updated","payload":{}}'
      const about = { type: 'channel.updated', envelope, nodeId: 'node' }
      reads.push({
        offset: offsets?.[0],
        answer: (userIds) => resolve(topics.map((topic: string) => ({ ...about, topic, userIds }))),
        answerElsewhere: (nodeId, userIds) => resolve([{ indexes: [1, 2], nodeId, userIds }]),
        fail: (error = new Error('lost')) => reject(error),
        topics: topics.length,
      })
    })
  }
  const use = (work: (db: unknown) => Promise<unknown>) => work(read)
  const fanout = createUserFanout({
    db: { use } as unknown as Db, // it only uses that
    nodeId: 'node',
    sessions,
    broadcast: (topics, { type, payload }) => {
      sent.push(topics.length)
      if (type === 'user.updated') names.push(payload.user.name)
    },
    report: (_, problem) => void problems.push(problem),
    hasReceivers: () => true,
    send: (note) => void notes.push(note),
    onPresenceLost: () => void problems.push('presence lost'),
    onProfileLost: () => void problems.push('profile lost'),
    onCopyLost: () => void problems.push('copy lost'),
  })
  const nextRead = (number: number) => vi.waitUntil(() => reads[number - 1], patient)
  return { fanout, reads, sent, names, notes, problems, nextRead }
}

type Read = {
  offset: unknown
  /** How many channels are read. */
  topics: unknown
  answer: (userIds: string[]) => void
  /** Answers for two users who both share a channel with these users of another node. */
  answerElsewhere: (nodeId: string, userIds: string[]) => void
  fail: (error?: Error) => void
}

export const announcerOf = (id: string, number = 1) => ({ id, number })
export const rename = (name: string, announcer?: Announcer) => ({
  ...{ kind: 'profile' as const, appId, announcer },
  user: { id: 'ben', name, image: null },
})
export const fanoutOf = (name: string, announcer: Announcer) => ({
  userIds: ['ana'],
  fanout: {
    ...{ appId, announcer, subject: `profile ${userKey({ appId, userId: 'ben' })}` },
    event: { type: 'user.updated' as const, payload: { user: rename(name).user } },
  },
})
