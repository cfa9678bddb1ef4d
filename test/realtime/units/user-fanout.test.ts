import { fanoutsIn } from '@parley/server/realtime/fanout/notes'
import { expect, test, vi } from 'vitest'
import { patient } from '../../support/until.ts'
import { appId, chat } from '../hub/fixture.ts'
import { announcerOf, fanoutOf, openFanout, rename } from './fanout.ts'

test('changes that another node sends after newer ones of a third are left out', () => {
  const { fanout, names } = openFanout()
  const [first, second, third] = [
    announcerOf('other'),
    announcerOf('third'),
    announcerOf('other', 2),
  ]
  fanout.profileChanged(rename('first', first))
  fanout.profileChanged(rename('second', second))
  fanout.receive(fanoutOf('second', second))
  fanout.receive(fanoutOf('first', first))
  expect(names).toEqual(['second'])
  fanout.profileChanged(rename('third', third))
  // Changes of the same node come in their order.
  fanout.receive(fanoutOf('third', third))
  expect(names).toEqual(['second', 'third'])
})

test('profiles that arrive in any order never replace one of a higher version', () => {
  const { fanout, names } = openFanout()
  const receive = (name: string, node: string, offset: number) => {
    const received = fanoutOf(name, announcerOf(node))
    fanout.receive({ ...received, fanout: { ...received.fanout, offset } })
  }
  receive('second', 'third', 2)
  receive('first', 'other', 1)
  receive('third', 'other', 3)
  expect(names).toEqual(['second', 'third'])
})

test('a node that cannot look up the users of all nodes leaves it to each', async () => {
  const { fanout, reads, notes, problems, nextRead } = openFanout()
  const announced = fanout.withAnnouncer(rename('Ben'))
  expect(announced.announcer).toEqual(announcerOf('node'))
  fanout.profileChanged(announced)
  ;(await nextRead(1)).fail()
  await vi.waitUntil(() => notes.length === 1, patient)
  expect(notes).toEqual([{ ...rename('Ben'), failed: announcerOf('node') }])
  fanout.channelUpdated(chat, 7, { announcer: announcerOf('node', 2) })
  ;(await nextRead(2)).fail()
  await vi.waitUntil(() => notes.length === 2, patient)
  expect(notes[1]).toMatchObject({ kind: 'hint', offset: 7, change: { type: 'channel.updated' } })
  const failed = 'user fan-out failed'
  expect(problems).toEqual([failed, 'profile lost', failed, 'copy lost'])
  // Other nodes look up the users of the changes that they announce.
  fanout.channelUpdated(chat, 8, { announcer: announcerOf('other') })
  fanout.profileChanged(rename('Benno', announcerOf('other')))
  expect(reads).toHaveLength(2)
})

test('a change that could not be sent is not announced again after a newer one', async () => {
  const { fanout, notes, problems, nextRead } = openFanout()
  fanout.profileChanged(fanout.withAnnouncer(rename('first')))
  const read = await nextRead(1)
  fanout.profileChanged(rename('second', announcerOf('other')))
  read.fail()
  await vi.waitUntil(() => problems.length === 2, patient)
  expect(notes).toEqual([])
})

test('a stopping node leaves unfinished fan-outs to each of the others', async () => {
  const { fanout, notes, nextRead } = openFanout()
  const renamed = fanout.withAnnouncer(rename('Ben'))
  fanout.profileChanged(renamed)
  for (const offset of [7, 8])
    fanout.channelUpdated(chat, offset, fanout.withAnnouncer({ type: 'channel.updated' }))
  await nextRead(2)
  await fanout.stop()
  expect(notes).toEqual([
    { ...rename('Ben'), failed: renamed.announcer },
    { kind: 'hint', topic: chat, offset: 8, change: { type: 'channel.updated' } },
  ])
})

test('a stopping node does not hand over an edit that its members have been sent', async () => {
  const { fanout, sent, notes, nextRead } = openFanout()
  fanout.channelUpdated(chat, 7, fanout.withAnnouncer({ type: 'channel.updated' }))
  ;(await nextRead(1)).answer(['ana'])
  await vi.waitUntil(() => sent.length === 1, patient)
  await fanout.stop()
  expect(notes).toEqual([])
})

test('a copy is not sent to members who were sent a later one', async () => {
  const { fanout, reads, sent, nextRead } = openFanout()
  const copy = (offset: number) => ({
    userIds: ['ana'],
    fanout: {
      ...{ appId, subject: chat, offset },
      event: { type: 'channel.updated', payload: {} } as never, // not read
    },
  })
  fanout.receive(copy(5))
  fanout.channelUpdated(chat, 4)
  expect([sent, reads]).toEqual([[1], []])
  // Some of the many members on one node may have been sent it, and others not.
  fanout.channelUpdated(chat, 5)
  ;(await nextRead(1)).answer(['ana'])
  await vi.waitUntil(() => sent.length === 2, patient)
  fanout.channelUpdated(chat, 6, { announcer: announcerOf('node') })
  const own = await nextRead(2)
  // Many users of one node come in several notes.
  for (const offset of [7, 7]) fanout.receive(copy(offset))
  own.answer(['ana'])
  fanout.receive(copy(6))
  expect(sent).toEqual([1, 1, 1, 1])
})

test('changes that come, or end, together reach another node in one note', async () => {
  const { fanout, notes, reads, nextRead } = openFanout()
  for (const id of ['ben', 'cem']) {
    const user = { id, name: id, image: null }
    fanout.profileChanged(fanout.withAnnouncer({ ...rename(id), user }))
  }
  const { answerElsewhere } = await nextRead(1)
  answerElsewhere('other', ['eve', 'dan'])
  await fanout.stop()
  expect(notes).toHaveLength(1)
  const [note] = notes
  expect(reads).toHaveLength(1)
  expect(note?.kind === 'fanout' && fanoutsIn(note)).toMatchObject([
    { fanout: { event: { payload: { user: { id: 'ben' } } } }, userIds: ['eve', 'dan'] },
    { fanout: { event: { payload: { user: { id: 'cem' } } } }, userIds: ['eve', 'dan'] },
  ])
})

test('a user and those who share channels with them are sent a change once each', async () => {
  const { fanout, sent, names, problems, nextRead } = openFanout()
  fanout.profileChanged(fanout.withAnnouncer({ ...rename('Ben'), version: 7 }))
  ;(await nextRead(1)).answerElsewhere('node', ['ana', 'ben'])
  await vi.waitUntil(() => sent.length === 1, patient)
  expect([sent, names]).toEqual([[2], ['Ben']])
  const received = fanoutOf('Benno', announcerOf('other'))
  fanout.receive({ ...received, fanout: { ...received.fanout, offset: 6 } })
  expect(names).toEqual(['Ben'])
  const presence = { kind: 'presence' as const, appId, userId: 'cem', lastActiveAt: null }
  fanout.presenceChanged(fanout.withAnnouncer({ ...presence, isOnline: true }))
  ;(await nextRead(2)).fail()
  await vi.waitUntil(() => problems.length === 2, patient)
  expect(problems).toEqual(['user fan-out failed', 'presence lost'])
})

test('a change that each node has looked up for itself is not sent once more', async () => {
  const { fanout, names, nextRead } = openFanout()
  fanout.profileChanged({ ...rename('Ben'), failed: announcerOf('other') })
  ;(await nextRead(1)).answerElsewhere('node', ['ana'])
  await vi.waitUntil(() => names.length > 0, patient)
  fanout.receive(fanoutOf('Ben', announcerOf('other')))
  expect(names).toEqual(['Ben'])
})
