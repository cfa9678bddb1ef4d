import type { SurveyNote } from '@parley/server/realtime/broker/index'
import { SubscriberSurvey } from '@parley/server/realtime/subscriber-survey'
import { expect, test, vi } from 'vitest'
import { upTo } from '../../support/events.ts'
import { stoppedClock } from '../../support/scripted/time.ts'

const ownSubscription = { subscriber: { id: 'own', userId: 'ana' }, isGranted: true }

/** A survey of a node with one subscription, beside this many other nodes. */
function openSurvey(countOthers: () => Promise<number>, subscriptions = [ownSubscription]) {
  const clock = stoppedClock()
  const asked: SurveyNote[] = []
  const survey = new SubscriberSurvey({
    nodeId: 'node',
    hub: { topics: { get: () => ({ subscriptions }) } } as never, // what it asks of them
    broker: { send: (note) => void asked.push(note as SurveyNote) },
    countOthers,
  })
  const answer = (id: string, client: string) =>
    survey.handleSurveyed({
      kind: 'surveyed',
      id,
      node: 'node',
      from: `node of ${client}`,
      clients: [{ user: 'ben', client }],
    })
  const idsOf = async (clients: ReturnType<typeof survey.clientsOf>) =>
    (await clients).map(({ client }) => client)
  const lastAsked = async (count: number) => {
    await vi.waitFor(() => expect(asked).toHaveLength(count))
    return asked.at(-1)?.id ?? ''
  }
  return { survey, clock, asked, answer, idsOf, lastAsked }
}

test('a survey is over once all nodes have answered, and lists what they know', async () => {
  const { survey, clock, answer, idsOf, lastAsked } = openSurvey(async () => 2)
  const clients = survey.clientsOf('topic')
  expect(survey.clientsOf('topic')).toBe(clients)
  const id = await lastAsked(1)
  for (const client of ['there', 'elsewhere']) answer(id, client)
  expect(await idsOf(clients)).toEqual(['own', 'there', 'elsewhere'])
  // The one timer left ends the second for which the answer is shared.
  expect(clock.timers()).toBe(1)
  await clock.forward(1_000)
  expect(clock.timers()).toBe(0)
  expect(survey.clientsOf('topic')).not.toBe(clients)
})

test('a node without an answer is left out after a second, and ignored if late', async () => {
  const { survey, clock, answer, idsOf, lastAsked } = openSurvey(async () => 2)
  const clients = survey.clientsOf('topic')
  const id = await lastAsked(1)
  answer(id, 'there')
  await clock.forward(1_000)
  const listed = await clients
  answer(id, 'late')
  expect(await idsOf(clients)).toEqual(['own', 'there'])
  expect(listed).toHaveLength(2)
})

test('an answer that arrives twice counts once', async () => {
  const { survey, answer, idsOf, lastAsked } = openSurvey(async () => 2)
  const clients = survey.clientsOf('topic')
  const id = await lastAsked(1)
  for (const client of ['there', 'there', 'elsewhere']) answer(id, client)
  expect(await idsOf(clients)).toEqual(['own', 'there', 'elsewhere'])
})

test('a survey that fails is not kept, and of very many topics the last are', async () => {
  let isAway = true
  const { survey } = openSurvey(async () => {
    if (isAway) throw new Error('the database is away')
    return 0
  })
  await expect(survey.clientsOf('topic')).rejects.toThrow('away')
  isAway = false
  const first = survey.clientsOf('topic')
  expect(await first).toHaveLength(1)
  const others = upTo(1_000).map((n) => survey.clientsOf(`topic ${n}`))
  expect(survey.clientsOf('topic 1000')).toBe(others.at(-1))
  expect(survey.clientsOf('topic')).not.toBe(first)
})

test('a node lists a thousand subscriptions at most', async () => {
  const { survey, answer, lastAsked } = openSurvey(async () => 1_000)
  const clients = survey.clientsOf('topic')
  const id = await lastAsked(1)
  for (const n of upTo(1_000)) answer(id, `there ${n}`)
  expect(await clients).toHaveLength(1_000)
  const many = openSurvey(
    async () => 0,
    upTo(1_001).map(() => ownSubscription),
  )
  expect(await many.survey.clientsOf('topic')).toHaveLength(1_000)
})

test('a subscription whose right was not read yet is not listed', async () => {
  const pending = { subscriber: { id: 'pending', userId: 'eve' }, isGranted: false }
  const { survey, idsOf } = openSurvey(async () => 0, [pending, ownSubscription])
  expect(await idsOf(survey.clientsOf('topic'))).toEqual(['own'])
})
