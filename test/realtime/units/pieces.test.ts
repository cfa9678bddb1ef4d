import type { SurveyNote } from '@parley/server/realtime/broker'
import { inPieces } from '@parley/server/realtime/chunks'
import { SubscriberSurvey } from '@parley/server/realtime/subscriber-survey'
import { expect, onTestFinished, test, vi } from 'vitest'

test('pieces have all items in order, and only one that is larger exceeds the most', () => {
  const sizes = [4, 4, 4, 9, 20, 1, 2, 8]
  const pieces = [...inPieces(sizes, { mostBytes: 10, bytesOf: (size) => size })]
  expect(pieces).toEqual([[4, 4], [4], [9], [20], [1, 2], [8]])
})

test('a survey is over once all nodes have answered, and lists what they know', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  const asked: SurveyNote[] = []
  const subscriptions = [{ subscriber: { id: 'own', userId: 'ana' } }]
  const survey = new SubscriberSurvey({
    nodeId: 'node',
    hub: { topics: { get: () => ({ subscriptions }) } } as never, // what it asks of them
    broker: { send: (note) => void asked.push(note as SurveyNote) },
    countOthers: async () => 2,
  })
  const clients = survey.clientsOf('topic')
  expect(survey.clientsOf('topic')).toBe(clients)
  await vi.waitFor(() => expect(asked).toHaveLength(1))
  const [{ id } = { id: '' }] = asked
  for (const client of ['there', 'elsewhere'])
    survey.handleSurveyed({
      kind: 'surveyed',
      id,
      node: 'node',
      clients: [{ user: 'ben', client }],
    })
  const listed: string[] = []
  void clients.then((all) => listed.push(...all.map(({ client }) => client)))
  await new Promise(setImmediate)
  expect(listed).toEqual(['own', 'there', 'elsewhere'])
})
