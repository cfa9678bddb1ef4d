import { expect, test } from 'vitest'
import { idle } from './support/idle.ts'
import { silentLog, useStagingWorld } from './support/jobs.ts'

const staging = useStagingWorld()
const { startNode, send } = staging

test.each([
  ['push-reaction', { userId: 'ben', emoji: '👍' }, 6],
  ['push-invite', { invitedBy: 'ana', userIds: ['ben'] }, 6],
  ['device', { userId: 'ben', provider: 'fcm' }, 24],
  ['subscriber', { userId: 'ben' }, 24],
  ['preview', {}, 24],
] as const)('a job of the task %s is given up after so many hours', async (task, fields, hours) => {
  const { world } = staging.current()
  const errors: string[] = []
  await startNode({ log: { ...silentLog, error: (_, message) => void errors.push(message) } })
  const { id, channelId } = await send('hours ago')
  await idle(world)
  const stage = async (minutes: number) => {
    const payload = world.db.json({ appId: world.appId, messageId: id, channelId, ...fields })
    await world.db`
      insert into staged_jobs (task, payload, created_at)
      values (${task}, ${payload}, now() - make_interval(mins => ${minutes}))`
    await idle(world)
  }
  await stage(60 * hours - 5)
  expect(errors).toEqual([])
  await stage(60 * hours + 5)
  expect(errors).toEqual(['job given up: too old'])
})
