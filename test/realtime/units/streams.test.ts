import { createDeltas } from '@parley/server/realtime/streams/deltas'
import { createStreams } from '@parley/server/realtime/streams/index'
import { expect, onTestFinished, test, vi } from 'vitest'

const STORE_MS = 1_000
const appendTo = (messageId: string, text = 'more') => ({
  ...{ appId: 'app', channelId: 'c', messageId, at: 0, text, isLarge: false, cause: {} },
})

/** The texts of a node, with counted stores. Each store says when the next one is due. */
function openStreams(...due: number[]) {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  const use = vi.fn(async () => due.shift() ?? 0)
  const broadcast = vi.fn()
  const streams = createStreams({
    db: { use } as never, // the work is counted, and not done
    publisher: { broadcast } as never,
    staging: {} as never,
    report: () => {},
    timings: { streamStoreMs: STORE_MS },
  })
  return { streams, use, broadcast }
}

test('text appended within an interval is stored once, and an empty text never', async () => {
  const { streams, use, broadcast } = openStreams()
  for (const text of ['one', 'two', 'three']) streams.appended(appendTo('m', text))
  streams.appended(appendTo('quiet', ''))
  await vi.advanceTimersByTimeAsync(10 * STORE_MS)
  expect([use.mock.calls.length, broadcast.mock.calls.length]).toEqual([1, 3])
})

test('a message whose author is quiet is looked at again when it is due', async () => {
  const { streams, use } = openStreams(5 * STORE_MS)
  streams.appended(appendTo('m'))
  await vi.advanceTimersByTimeAsync(STORE_MS)
  expect(use).toHaveBeenCalledTimes(1)
  await vi.advanceTimersByTimeAsync(5 * STORE_MS)
  expect(use).toHaveBeenCalledTimes(2)
})

test('a node that stops stores what waits at once, and has no timer after that', async () => {
  const { streams, use } = openStreams(STORE_MS)
  for (const id of ['m', 'n']) streams.appended(appendTo(id))
  await streams.stop()
  expect([use.mock.calls.length, vi.getTimerCount()]).toEqual([2, 0])
})

/** The number of these messages that a node tries to store when its first look finds them. */
async function lookAtLeft(ofApps: string[], work: () => Promise<number>) {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'] })
  onTestFinished(() => void vi.useRealTimers())
  const left = ofApps.map((appId, index) => ({ appId, channelId: 'c', messageId: `m${index}` }))
  const looks = [left.slice(0, 1), left]
  let stores = 0
  const use = async () => {
    const found = looks.shift()
    if (found) return found
    if (stores === left.length) return []
    stores += 1
    return work()
  }
  const streams = createStreams({
    ...{ db: { use } as never, publisher: {} as never, staging: {} as never },
    report: () => {},
    timings: { reconcileMs: 1_000 },
  })
  streams.start()
  await vi.advanceTimersByTimeAsync(1_000)
  await streams.stop()
  return stores
}

test('one pass stores many abandoned streams of an app if few apps have any', async () => {
  expect(await lookAtLeft(Array(12).fill('busy'), async () => 0)).toBe(12)
})

test('few texts of an app are tried while none of them can be stored', async () => {
  const fail = () => Promise.reject(new Error('cannot be stored'))
  expect(await lookAtLeft(Array(50).fill('failing'), fail)).toBeLessThan(10)
})

test('a large channel is sent a growing text once in each pause', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  const sent: number[] = []
  const publisher = {
    broadcast: ({ payload }: { payload: { at: number } }) => sent.push(payload.at),
  }
  const deltas = createDeltas({ publisher: publisher as never, pauseMs: 1_000 })
  // Half a second each, so that two share a pause.
  for (let at = 0; at < 6; at++) {
    deltas.add({ ...appendTo('m', 'x'), at, isLarge: true })
    await vi.advanceTimersByTimeAsync(500)
  }
  expect(sent).toEqual([0, 1, 2, 4])
  deltas.stop()
})
