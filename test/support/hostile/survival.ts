import { setTimeout } from 'node:timers/promises'
import { afterAll, beforeAll, expect } from 'vitest'
import type { World } from '../world.ts'
import { ask } from './wire.ts'

/** Notes unhandled rejections. Returns a function that expects the server to have survived. */
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
    // The cleanup erases what the requests deleted, in transactions of its own.
    await world().cleanup.run()
    expect(await leftOpen(world())).toEqual([])
    expect(unhandled).toEqual([])
  }
}

/** The transactions that rest between two statements for longer than one at work does. */
async function leftOpen({ db }: World) {
  let open: string[] | undefined
  for (let look = 0; look < 10 && open?.length !== 0; look++) {
    if (open) await setTimeout(50)
    const seen = await db<{ transaction: string }[]>`
      select concat_ws(' ', pid, xact_start, query) as transaction
      from pg_stat_activity
      where datname = current_database() and state like 'idle in transaction%'`
    const now = seen.map(({ transaction }) => transaction)
    open = open?.filter((transaction) => now.includes(transaction)) ?? now
  }
  return open
}
