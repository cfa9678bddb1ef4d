import type { ServerResponse } from 'node:http'
import { expect, test } from 'vitest'
import { drained, idle } from './support/idle.ts'
import type { Call } from './support/provider.ts'
import { usePushChannel } from './support/push.ts'
import { until } from './support/until.ts'

const { world, provider, current } = usePushChannel()
const MANY = 60

/** Stages many jobs of the app of `world`, as its calls would in the course of a day. */
const stage = (task: string, payload: (n: number) => object) => {
  const jobs = Array.from({ length: MANY }, (_, n) => ({ appId: world().appId, ...payload(n) }))
  return world().db`
    insert into staged_jobs (task, payload)
    select ${task}, job
    from jsonb_array_elements(${world().db.json(jobs)}) job`
}

/** Calls of the app of `world` that wait for an answer. Those of others are answered at once. */
const held: (() => void)[] = []
let [released, others] = [0, 0]

function holdCalls(isOurs: (call: Call) => boolean) {
  held.length = 0
  released = 0
  others = 0
  provider().behave((response: ServerResponse, call: Call) => {
    const answer = () => provider().accept(response, call)
    if (isOurs(call)) return void held.push(answer)
    others += 1
    answer()
  })
}

/** Answers one call after the other, so that what begins next is what the queue has next. */
async function releaseUntil(isDone: () => boolean) {
  while (!isDone()) {
    const before = held.length + others
    held[released]?.()
    released += 1
    await until(() => held.length + others > before)
  }
}

async function releaseAll() {
  provider().behave()
  for (const release of held.slice(released)) release()
  await idle(world())
}

test('a push does not wait behind the many pushes of another app', async () => {
  const { ana, ben, channelId } = current()
  const other = await world().stranger()
  const finn = await world().user('finn', {}, other)
  await other.users.sync({ users: [{ id: 'eve' }] })
  await idle(world())
  holdCalls(({ body }) => JSON.stringify(body).includes(ben.id))
  await stage('push-invite', () => ({ channelId, invitedBy: ana.id, userIds: [ben.id] }))
  await until(() => held.length === 4)
  await drained(world())
  await finn.channels.create({ type: 'group', name: 'Two', memberIds: ['eve'] })
  await drained(world())
  await releaseUntil(() => provider().kindsFor('eve').length > 0)
  // Four run, four more have been fetched, and the next fetch has it and at most three others.
  expect(held.length).toBeLessThanOrEqual(4 + 4 + 3)
  await releaseAll()
  expect(provider().kindsFor(ben.id)).toHaveLength(MANY)
})

test('a new device does not wait for the removal of many users of any app', async () => {
  const { ana } = current()
  const ivy = await world().user('ivy', {}, await world().stranger())
  await idle(world())
  holdCalls(({ method }) => method === 'DELETE')
  await stage('subscriber-removal', (n) => ({ userId: `gone-${n}` }))
  await until(() => held.length === 4)
  await drained(world())
  for (const user of [ana, ivy])
    await user.devices.create({ platform: 'ios', provider: 'apns', token: `of-${user.id}` })
  await drained(world())
  const areKnown = () =>
    [ana, ivy].every(({ id }) =>
      provider().calls.some(({ method, path }) => method === 'PUT' && path.includes(`/${id}/`)),
    )
  await releaseUntil(areKnown)
  // Some more begin while the queue of a user is one of those that removals have locked.
  expect(held.length).toBeLessThan(MANY / 2)
  await releaseAll()
  expect(provider().calls.filter(({ method }) => method === 'DELETE')).toHaveLength(MANY)
})
