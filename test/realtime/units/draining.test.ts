import { closeForOutage, Sessions } from '@parley/server/realtime/sessions'
import { expect, onTestFinished, test, vi } from 'vitest'

/** Three sessions, and when each was closed. */
function openSessions() {
  vi.useFakeTimers({ toFake: ['setTimeout', 'performance'] })
  onTestFinished(() => void vi.useRealTimers())
  const sessions = new Sessions()
  const startedAt = performance.now()
  const closedAt: number[] = []
  const add = (userId: string) => {
    const close = () => void closedAt.push(performance.now() - startedAt)
    sessions.add({ appId: 'app', userId, generation: 0, topics: [], close })
  }
  for (const userId of ['ana', 'ben', 'cem']) add(userId)
  return { sessions, closedAt, add }
}

test('sessions are closed in the second half of the time, evenly spread', async () => {
  const { sessions, closedAt } = openSessions()
  sessions.drainLate(1_800)
  await vi.advanceTimersByTimeAsync(1_800)
  expect(closedAt).toEqual([900, 1_200, 1_500])
})

test('sessions stay once their node has its database again', async () => {
  const { sessions, closedAt, add } = openSessions()
  let isOutage = true
  const drained = sessions.drain(900, () => isOutage)
  await vi.advanceTimersByTimeAsync(400)
  add('ana')
  isOutage = false
  await vi.advanceTimersByTimeAsync(900)
  await drained
  expect(closedAt).toEqual([0, 300])
})

test('sockets stay after an outage; during it those from before are closed', async () => {
  const { sessions } = openSessions()
  const [closed, open] = [[] as string[], ['first', 'second']]
  const sockets = () => open.map((name) => ({ close: () => void closed.push(name) }) as never)
  let isOutage = true
  const closing = () =>
    closeForOutage(sessions, { sockets, isOutage: () => isOutage, milliseconds: 900 })
  const over = closing()
  await vi.advanceTimersByTimeAsync(400)
  isOutage = false
  await vi.advanceTimersByTimeAsync(900)
  await over
  expect(closed).toEqual([])
  isOutage = true
  const whole = closing()
  open.push('third')
  await vi.advanceTimersByTimeAsync(900)
  await whole
  expect(closed).toEqual(['first', 'second'])
})
