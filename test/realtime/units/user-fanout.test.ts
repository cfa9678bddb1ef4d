import { limits } from '@parley/contract'
import { userKey } from '@parley/server/core/user-ref'
import type { Db } from '@parley/server/db/client'
import type { NodeNote, Teller } from '@parley/server/realtime/broker'
import { countsNotes } from '@parley/server/realtime/received-counts'
import { Sessions } from '@parley/server/realtime/sessions'
import { toldNotes } from '@parley/server/realtime/told-notes'
import { createUserFanout } from '@parley/server/realtime/user-fanout'
import { expect, test, vi } from 'vitest'
import { upTo } from '../../support/events.ts'
import { patient } from '../../support/until.ts'
import { appId, chat } from '../hub/fixture.ts'

/** The fan-out of a node on a database whose answers the test gives, in the order of the reads. */
function openFanout() {
  const sessions = new Sessions()
  sessions.add({ appId, userId: 'ana', generation: 0, topics: [], close: () => {} })
  const reads: { offset: unknown; answer: (userIds: string[]) => void; fail: () => void }[] = []
  const sent: number[] = []
  const notes: NodeNote[] = []
  const names: string[] = []
  const problems: string[] = []
  const read = (text: TemplateStringsArray, ...values: unknown[]) => {
    if (!/from (events|told)/.test(text.join(''))) return undefined // a part of a statement
    return new Promise((resolve, reject) => {
      const envelope = '{"type":"channel.updated","payload":{}}'
      reads.push({
        offset: values.at(-1),
        answer: (userIds) =>
          resolve([{ type: 'channel.updated', envelope, nodeId: 'node', userIds }]),
        fail: () => reject(new Error('lost')),
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
    isHeard: () => true,
    send: (note) => void notes.push(note),
    onPresenceLost: () => {},
    onProfileLost: () => {},
    onCopyLost: () => void problems.push('copy lost'),
  })
  const nextRead = (number: number) => vi.waitUntil(() => reads[number - 1], patient)
  return { fanout, reads, sent, names, notes, problems, nextRead }
}

test('of the changes of a channel that come during a copy, members are sent the last', async () => {
  const { fanout, reads, sent, nextRead } = openFanout()
  for (const offset of upTo(5)) fanout.channelUpdated(chat, offset)
  const first = await nextRead(1)
  expect(reads).toHaveLength(1)
  first.answer(['ana'])
  const second = await nextRead(2)
  expect([first.offset, second.offset]).toEqual([1, 5])
  second.answer(['ana', 'ben'])
  await vi.waitUntil(() => sent.length === 2, patient)
  fanout.channelUpdated(chat, 6)
  expect((await nextRead(3)).offset).toBe(6)
})

test('of two changes heard of in reverse, members are sent the later one', async () => {
  const { fanout, reads, sent, nextRead } = openFanout()
  fanout.channelUpdated(chat, 2)
  ;(await nextRead(1)).answer(['ana'])
  await vi.waitUntil(() => sent.length === 1, patient)
  for (const offset of [1, 3]) fanout.channelUpdated(chat, offset)
  expect((await nextRead(2)).offset).toBe(3)
  expect(reads).toHaveLength(2)
})

test('a change heard of late does not end the turn of those after it', async () => {
  const { fanout, reads, sent, nextRead } = openFanout()
  const after = (since: number, milliseconds: number) =>
    vi.waitUntil(() => performance.now() - since > milliseconds, { ...patient, interval: 5 })
  fanout.channelUpdated(chat, 2)
  ;(await nextRead(1)).answer(['ana'])
  await vi.waitUntil(() => sent.length === 1, patient)
  const firstAt = performance.now()
  await after(firstAt, 500)
  fanout.channelUpdated(chat, 1)
  const lateAt = performance.now()
  // A turn lasts for a second after its copy.
  await after(firstAt, 1_050)
  fanout.channelUpdated(chat, 3)
  ;(await nextRead(2)).answer(['ana'])
  await after(lateAt, 1_050)
  for (const offset of [2, 4]) fanout.channelUpdated(chat, offset)
  expect((await nextRead(3)).offset).toBe(4)
  expect(reads).toHaveLength(3)
})

test('a copy that fails does not keep members from the one after it', async () => {
  const { fanout, problems, nextRead } = openFanout()
  for (const offset of upTo(2)) fanout.channelUpdated(chat, offset)
  ;(await nextRead(1)).fail()
  expect((await nextRead(2)).offset).toBe(2)
  expect(problems).toEqual(['user fan-out failed', 'copy lost'])
})

test('many members of a large channel are sent at most one copy a second', async () => {
  const { fanout, nextRead } = openFanout()
  const crowd = upTo(limits.largeChannelMembers + 1).map((number) => `fan${number}`)
  for (const offset of upTo(2)) fanout.channelUpdated(chat, offset)
  const first = await nextRead(1)
  const startedAt = performance.now()
  first.answer(crowd)
  await nextRead(2)
  expect(performance.now() - startedAt).toBeGreaterThan(990)
})

const tellerOf = (id: string, number = 1) => ({ id, number })
const rename = (name: string, teller?: Teller) => ({
  ...{ kind: 'profile' as const, appId, teller },
  user: { id: 'ben', name, image: null },
})
const told = (name: string, teller: Teller) => ({
  ...{ kind: 'told' as const, node: 'node', userIds: ['ana'] },
  news: {
    ...{ appId, teller, subject: `profile ${userKey({ appId, userId: 'ben' })}` },
    event: { type: 'user.updated' as const, payload: { user: rename(name).user } },
  },
})

test('news that another node tells after newer ones of a third are left out', () => {
  const { fanout, names } = openFanout()
  const [first, second, third] = [tellerOf('other'), tellerOf('third'), tellerOf('other', 2)]
  fanout.profileChanged(rename('first', first))
  fanout.profileChanged(rename('second', second))
  fanout.receive(told('second', second))
  fanout.receive(told('first', first))
  expect(names).toEqual(['second'])
  fanout.profileChanged(rename('third', third))
  // Of the same node they come in their order.
  fanout.receive(told('third', third))
  expect(names).toEqual(['second', 'third'])
})

test('who cannot look up the users of all nodes leaves it to each', async () => {
  const { fanout, reads, notes, problems, nextRead } = openFanout()
  const announced = fanout.announced(rename('Ben'))
  expect(announced.teller).toEqual(tellerOf('node'))
  fanout.profileChanged(announced)
  ;(await nextRead(1)).fail()
  await vi.waitUntil(() => notes.length === 1, patient)
  expect(notes).toEqual([{ ...rename('Ben'), failed: tellerOf('node') }])
  fanout.channelUpdated(chat, 7, { teller: tellerOf('node', 2) })
  ;(await nextRead(2)).fail()
  await vi.waitUntil(() => notes.length === 2, patient)
  expect(notes[1]).toMatchObject({ kind: 'hint', offset: 7, change: { type: 'channel.updated' } })
  expect(problems).toEqual(['user fan-out failed', 'user fan-out failed', 'copy lost'])
  // What others announce, they look up.
  fanout.channelUpdated(chat, 8, { teller: tellerOf('other') })
  fanout.profileChanged(rename('Benno', tellerOf('other')))
  expect(reads).toHaveLength(2)
})

test('a change that could not be told is not announced again after a newer one', async () => {
  const { fanout, notes, problems, nextRead } = openFanout()
  fanout.profileChanged(fanout.announced(rename('first')))
  const read = await nextRead(1)
  fanout.profileChanged(rename('second', tellerOf('other')))
  read.fail()
  await vi.waitUntil(() => problems.length === 1, patient)
  expect(notes).toEqual([])
})

test('what a node has not told when it stops, it leaves to each', async () => {
  const { fanout, notes, nextRead } = openFanout()
  const renamed = fanout.announced(rename('Ben'))
  fanout.profileChanged(renamed)
  for (const offset of [7, 8])
    fanout.channelUpdated(chat, offset, fanout.announced({ type: 'channel.updated' }))
  await nextRead(2)
  await fanout.stop()
  expect(notes).toEqual([
    { ...rename('Ben'), failed: renamed.teller },
    { kind: 'hint', topic: chat, offset: 8, change: { type: 'channel.updated' } },
  ])
})

test('a copy is not sent to members who were told a later one', async () => {
  const { fanout, reads, sent, nextRead } = openFanout()
  const copy = (offset: number) => ({
    ...{ kind: 'told' as const, node: 'node', userIds: ['ana'] },
    news: {
      ...{ appId, subject: chat, offset },
      event: { type: 'channel.updated', payload: {} } as never, // not read
    },
  })
  fanout.receive(copy(5))
  fanout.channelUpdated(chat, 4)
  expect([sent, reads]).toEqual([[1], []])
  // Of many members of one node some may have been told, and others not.
  fanout.channelUpdated(chat, 5)
  ;(await nextRead(1)).answer(['ana'])
  await vi.waitUntil(() => sent.length === 2, patient)
  fanout.channelUpdated(chat, 6, { teller: tellerOf('node') })
  const own = await nextRead(2)
  // Many users of one node come in several notes.
  for (const offset of [7, 7]) fanout.receive(copy(offset))
  own.answer(['ana'])
  fanout.receive(copy(6))
  expect(sent).toEqual([1, 1, 1, 1])
})

test('the users of another node come in notes that fit into a payload', () => {
  const userIds = upTo(60).map((n) => `${n}`.padStart(255, 'x'))
  const users = userIds.map((userId) => ({ nodeId: 'other', appId, userId }))
  const notes = toldNotes(told('Ben', tellerOf('node')).news, users)
  expect(notes.flatMap((note) => note.userIds)).toEqual(userIds)
  expect(notes).toHaveLength(3)
  const rows = users.map((user) => ({ ...user, channelId: 'one', count: 1, version: 2 }))
  const counted = countsNotes(rows, () => ({ offset: 3, author: null, isDeletion: false }))
  expect(counted.flatMap(({ channels }) => channels.flatMap(({ users }) => users))).toHaveLength(60)
  for (const note of [...notes, ...counted]) expect(JSON.stringify(note).length).toBeLessThan(7_800)
})
