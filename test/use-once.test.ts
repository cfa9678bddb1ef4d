import { useOnce } from '@parley/server/db/use-once'
import { expect, onTestFinished, test, vi } from 'vitest'
import { openDatabaseProxy } from './support/database-proxy.ts'
import { useWorld } from './support/world.ts'

const world = useWorld()

test('a command whose connection falls silent ends after 30 s', async () => {
  const proxy = await openDatabaseProxy(world().databaseUrl)
  onTestFinished(() => proxy.stop())
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'], shouldAdvanceTime: true })
  onTestFinished(() => void vi.useRealTimers())
  let fallSilent = () => {}
  const silent = new Promise<void>((resolve) => (fallSilent = resolve))
  const ended = vi.fn()
  const outcome = useOnce(proxy.url, async (db) => {
    await db`select 1`
    proxy.silence()
    fallSilent()
    return db`select 2`
  }).catch(ended)
  await silent
  await vi.advanceTimersByTimeAsync(25_000)
  expect(ended).not.toHaveBeenCalled()
  await vi.advanceTimersByTimeAsync(10_000)
  await outcome
  expect(ended).toHaveBeenCalledWith(expect.objectContaining({ code: 'DEADLINE_EXCEEDED' }))
})

test('a command that has ended leaves no timer that keeps its process running', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'], shouldAdvanceTime: true })
  onTestFinished(() => void vi.useRealTimers())
  await useOnce(world().databaseUrl, async (db) => await db`select 1`)
  expect(vi.getTimerCount()).toBe(0)
})
