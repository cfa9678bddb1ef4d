import { limits } from '@parley/contract'
import type { Db } from '@parley/server/db/client'
import { Sessions } from '@parley/server/realtime/sessions'
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
  const problems: string[] = []
  const read = (_: unknown, ...values: unknown[]) =>
    new Promise((resolve, reject) => {
      const envelope = '{"type":"channel.updated","payload":{}}'
      reads.push({
        offset: values.at(-1),
        answer: (userIds) => resolve([{ type: 'channel.updated', envelope, userIds }]),
        fail: () => reject(new Error('lost')),
      })
    })
  const use = (work: (db: unknown) => Promise<unknown>) => work(read)
  const fanout = createUserFanout({
    db: { use } as unknown as Db, // it only uses that
    nodeId: 'node',
    sessions,
    broadcast: (topics) => void sent.push(topics.length),
    report: (_, problem) => void problems.push(problem),
    onPresenceLost: () => {},
    onProfileLost: () => {},
  })
  const nextRead = (number: number) => vi.waitUntil(() => reads[number - 1], patient)
  return { fanout, reads, sent, problems, nextRead }
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
  expect(problems).toEqual(['user fan-out failed'])
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
