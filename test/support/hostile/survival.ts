import { afterAll, beforeAll, expect } from 'vitest'
import type { World } from '../world.ts'
import { ask } from './wire.ts'

/** Notes unhandled rejections; what it returns expects that the server has survived. */
export function useSurvival(world: () => World) {
  const unhandled: unknown[] = []
  const note = (error: unknown) => void unhandled.push(error)
  beforeAll(() => void process.on('unhandledRejection', note))
  afterAll(() => void process.off('unhandledRejection', note))
  return async () => {
    expect((await ask(world().url, { method: 'GET', path: '/health' })).status).toBe(200)
    const [ana, ben] = await world().users('ana', 'ben')
    const { id: channelId } = await ana.channels.create({
      type: 'group',
      name: 'Talk',
      memberIds: ['ben'],
    })
    await ana.messages.send({ channelId, text: 'Still here' })
    expect((await ben.channels.get({ channelId })).unreadCount).toBe(1)
    // What the requests have deleted is erased in transactions that are no request's.
    await world().cleanup.run()
    const openTransactions = await world().db`
      select query
      from pg_stat_activity
      where datname = current_database() and state like 'idle in transaction%'`
    expect(openTransactions).toEqual([])
    expect(unhandled).toEqual([])
  }
}
