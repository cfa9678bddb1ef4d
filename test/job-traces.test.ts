import { expect, test } from 'vitest'
import { useStagingWorld } from './support/jobs.ts'
import { whileLocked } from './support/locks.ts'

const staging = useStagingWorld()

test('messages stored in one batch have their pushes in their own traces', async () => {
  const { world, ana, channelId } = staging.current()
  const post = async (digit: string) => {
    const answer = await fetch(`${world.url}/api/channels/${channelId}/messages`, {
      method: 'POST',
      headers: {
        Authorization: `Bearer ${ana.token}`,
        'Content-Type': 'application/json',
        traceparent: `00-${digit.repeat(32)}-${'d'.repeat(16)}-00`,
      },
      body: JSON.stringify({ text: digit }),
    })
    expect(answer.status).toBe(201)
    const { id } = (await answer.json()) as { id: string } // by the contract
    return { id, trace: digit.repeat(32) }
  }
  // The others wait behind the first, and are one batch.
  const sent = await whileLocked(world, channelId, async (waitFor) => {
    const first = post('a')
    await waitFor(1)
    return { all: [first, post('b'), post('c'), post('e')] }
  })
  const traces = await Promise.all(sent.all)
  const staged = await world.db<{ id: string; trace: string }[]>`
    select payload ->> 'messageId' as id, payload ->> 'trace' as trace
    from staged_jobs
    where task = 'push-message'`
  const byId = new Map(staged.map(({ id, trace }) => [id, trace]))
  expect(traces.map(({ id }) => byId.get(id))).toEqual(traces.map(({ trace }) => trace))
})

test('a reaction has its push in the trace of its call', async () => {
  const { world, ana, channelId } = staging.current()
  const { id: messageId } = await ana.messages.send({ channelId, text: 'liked' })
  const ben = await world.user('ben')
  const trace = 'f'.repeat(32)
  const path = `api/channels/${channelId}/messages/${messageId}/reactions`
  await fetch(`${world.url}/${path}`, {
    method: 'POST',
    headers: {
      Authorization: `Bearer ${ben.token}`,
      'Content-Type': 'application/json',
      traceparent: `00-${trace}-${'d'.repeat(16)}-00`,
    },
    body: JSON.stringify({ emoji: '👍' }),
  })
  const staged = await world.db`
    select payload ->> 'trace' as trace
    from staged_jobs
    where task = 'push-reaction'`
  expect([...staged]).toEqual([{ trace }])
})

test('a trace id of zeros only is replaced by a new trace', async () => {
  const { world, ana, channelId } = staging.current()
  const traceparent = `00-${'0'.repeat(32)}-${'d'.repeat(16)}-00`
  await fetch(`${world.url}/api/channels/${channelId}/messages`, {
    method: 'POST',
    headers: {
      Authorization: `Bearer ${ana.token}`,
      'Content-Type': 'application/json',
      traceparent,
    },
    body: JSON.stringify({ text: 'zeros' }),
  })
  const staged = await world.db<{ trace: string }[]>`
    select payload ->> 'trace' as trace
    from staged_jobs
    where task = 'push-message'`
  const valid = expect.stringMatching(/^(?!0{32})[\da-f]{32}$/)
  expect(staged.map(({ trace }) => trace)).toEqual([valid])
})
