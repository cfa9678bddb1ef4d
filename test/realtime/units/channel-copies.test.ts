import { limits } from '@parley/contract'
import { expect, test, vi } from 'vitest'
import { upTo } from '../../support/events.ts'
import { patient } from '../../support/until.ts'
import { chat } from '../hub/fixture.ts'
import { channel, openFanout } from './fanout.ts'

test('members are sent the last of the changes that come during a copy', async () => {
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

test('members are sent the later of two changes that arrive in reverse', async () => {
  const { fanout, reads, sent, nextRead } = openFanout()
  fanout.channelUpdated(chat, 2)
  ;(await nextRead(1)).answer(['ana'])
  await vi.waitUntil(() => sent.length === 1, patient)
  for (const offset of [1, 3]) fanout.channelUpdated(chat, offset)
  expect((await nextRead(2)).offset).toBe(3)
  expect(reads).toHaveLength(2)
})

test('a change that is announced twice within a second is copied once', async () => {
  const { fanout, reads, sent, nextRead } = openFanout()
  const copy = async (offset: number) => {
    fanout.channelUpdated(chat, offset)
    ;(await nextRead(offset)).answer(['ana'])
    await vi.waitUntil(() => sent.length === offset, patient)
    return performance.now()
  }
  const firstAt = await copy(1)
  fanout.channelUpdated(chat, 1)
  await vi.waitUntil(() => performance.now() - firstAt > 500, { ...patient, interval: 5 })
  await copy(2)
  // The second after the first copy ends, but not that after the second one.
  await vi.waitUntil(() => performance.now() - firstAt > 1_050, { ...patient, interval: 5 })
  for (const offset of [2, 3]) fanout.channelUpdated(chat, offset)
  expect((await nextRead(3)).offset).toBe(3)
  expect(reads).toHaveLength(3)
})

test('a copy that fails does not keep members from the one after it', async () => {
  const { fanout, problems, nextRead } = openFanout()
  for (const offset of upTo(2)) fanout.channelUpdated(chat, offset)
  ;(await nextRead(1)).fail()
  expect((await nextRead(2)).offset).toBe(2)
  expect(problems).toEqual(['user fan-out failed', 'copy lost'])
})

test('missed edits are read for many channels at once, one statement at a time', async () => {
  const { fanout, reads, sent, problems, nextRead } = openFanout()
  const missed = upTo(250).map((offset) => ({
    ...{ topic: channel(offset), offset },
    memberCount: 2,
  }))
  const copied = fanout.copyMissed([...missed, { topic: chat, offset: 1, memberCount: 50_000 }])
  for (const number of upTo(3)) {
    const { answer } = await nextRead(number)
    expect(reads).toHaveLength(number)
    answer(['ana'])
  }
  ;(await nextRead(4)).fail()
  await copied
  expect(reads.map(({ topics }) => topics)).toEqual([98, 98, 54, 1])
  expect(sent).toHaveLength(250)
  expect(problems).toEqual(['user fan-out failed', 'copy lost'])
})

test('a missed edit whose copy takes too long does not keep members from the others', async () => {
  const { fanout, reads, sent, problems, nextRead } = openFanout()
  const missed = upTo(2).map((offset) => ({ topic: channel(offset), offset, memberCount: 2 }))
  const copied = fanout.copyMissed([...missed, { topic: chat, offset: 3, memberCount: 50_000 }])
  const cancelled = () => Object.assign(new Error('cancelled'), { code: '57014' })
  // Two at once, then each alone.
  for (const number of upTo(2)) (await nextRead(number)).fail(cancelled())
  for (const number of [3, 4]) (await nextRead(number)).answer(['ana'])
  await copied
  expect(reads.map(({ topics }) => topics)).toEqual([2, 1, 1, 1])
  expect([sent, problems]).toEqual([
    [1, 1],
    ['user fan-out failed', 'copy lost'],
  ])
})

test('a database that is too slow for all missed edits is asked for no more of them', async () => {
  const { fanout, reads, problems, nextRead } = openFanout()
  const missed = upTo(250).map((offset) => ({
    ...{ topic: channel(offset), offset },
    memberCount: 2,
  }))
  const failures: unknown[] = []
  void fanout.copyMissed(missed).catch((error: unknown) => failures.push(error))
  const cancelled = Object.assign(new Error('cancelled'), { code: '57014' })
  // The first piece, and then its halves.
  for (const number of upTo(3)) (await nextRead(number)).fail(cancelled)
  await vi.waitUntil(() => failures.length > 0 || reads.length > 3, patient)
  expect(failures).toEqual([cancelled])
  expect([reads.map(({ topics }) => topics), problems]).toEqual([[98, 49, 49], []])
})

test('no more edits that were missed are read once the database is out of reach', async () => {
  const { fanout, reads, problems, nextRead } = openFanout()
  const missed = upTo(250).map((offset) => ({
    ...{ topic: channel(offset), offset },
    memberCount: 2,
  }))
  const copied = fanout.copyMissed(missed)
  const lost = Object.assign(new Error('lost'), { code: 'CONNECTION_CLOSED' })
  ;(await nextRead(1)).fail(lost)
  await expect(copied).rejects.toBe(lost)
  expect([reads.length, problems]).toEqual([1, []])
})

test('many members of a large channel are sent at most one copy a second', async () => {
  const { fanout, nextRead } = openFanout()
  const members = upTo(limits.largeChannelMembers + 1).map((number) => `fan${number}`)
  for (const offset of upTo(2)) fanout.channelUpdated(chat, offset)
  const first = await nextRead(1)
  const startedAt = performance.now()
  first.answer(members)
  await nextRead(2)
  expect(performance.now() - startedAt).toBeGreaterThan(990)
})
