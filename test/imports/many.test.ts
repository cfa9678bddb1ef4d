import type { ImportRecord } from '@parley/client/server'
import { limits } from '@parley/contract'
import { expect, test } from 'vitest'
import { upTo } from '../support/events.ts'
import { useWorld } from '../support/world.ts'
import { at, channel, importInto, member, message, post, user } from './records.ts'

const world = useWorld()

test('no line is too strange: it is refused, in so many words', async () => {
  const time = `2024-05-01T09:00:00.${'1'.repeat(200)}Z`
  const fields = Array.from({ length: 999 }, (_, n) => [`field${n}`, 1])
  const lines = [
    user('late', { createdAt: time }),
    { ...user('many'), ...Object.fromEntries(fields) },
  ]
  const body = lines.map((line) => `${JSON.stringify(line)}\n`).join('')
  const [late, many] = (await post(world(), body)).body.refusals
  expect(late.reason).toBe('createdAt: expected at most 9 digits of a second')
  expect(many.reason).toMatch(/^Unrecognized keys: "field0".*…$/)
  expect(many.reason).toHaveLength(limits.imports.reasonLength)
})

test('of more than one message or channel may have, the first are taken', async () => {
  const [kinds, pins] = [limits.reactionKinds, limits.pins]
  const by = { userId: 'ana', createdAt: at(60) }
  const reaction = (emoji: string): ImportRecord => ({
    ...{ record: 'reaction', messageId: 'loud1', emoji, ...by },
  })
  const pin = (messageId: string, minute: number): ImportRecord => ({
    ...{ record: 'pin', messageId, ...by, createdAt: at(minute) },
  })
  const report = await importInto(world(), [
    user('ana'),
    channel('loud'),
    ...upTo(pins + 1).map((n) => message(`loud${n}`, 'loud', { createdAt: at(n) })),
    ...upTo(kinds + 1).map((n) => reaction(`e${n}`)),
    ...upTo(pins + 1).map((n) => pin(`loud${n}`, n)),
  ])
  expect(report.imported).toMatchObject({ reactions: kinds + 1, pins: pins + 1 })
  expect(report.refusals.map(({ reason }) => reason)).toEqual([
    `emoji: a message can have at most ${kinds} kinds`,
    `messageId: a channel can have at most ${pins} pins`,
  ])
})

test('a channel is listed by its creation, too, where its history is older', async () => {
  await importInto(world(), [
    user('dee'),
    channel('moved', { createdAt: at(40) }),
    channel('quiet', { createdAt: at(20) }),
    ...['moved', 'quiet'].map((id) => member(id, 'dee')),
    message('older', 'moved'),
  ])
  const dee = await world().user('dee')
  const { channels } = await dee.channels.list({})
  expect(channels.map(({ name }) => name)).toEqual(['moved', 'quiet'])
})

test('any number of lines can be refused: all are counted, and the first are shown', async () => {
  const shown = limits.imports.refusalsShown
  const { body } = await post(world(), 'nonsense\n'.repeat(shown + 2))
  expect(body.refused).toBe(shown + 2)
  expect(body.refusals).toHaveLength(shown)
})
