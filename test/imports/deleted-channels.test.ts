import { limits } from '@parley/contract'
import { expect, test } from 'vitest'
import { upTo } from '../support/events.ts'
import { withoutCleanup } from '../support/locks.ts'
import { useWorld } from '../support/world.ts'
import { at, channel, channelIdOf, importInto, member, message, post, user } from './records.ts'

const world = useWorld()

test('a channel that was deleted takes no more records of an import', async () => {
  await importInto(world(), [user('ana'), channel('old'), member('old', 'ana')])
  const channelId = channelIdOf(world(), 'old')
  await withoutCleanup(world(), async () => {
    await world().backend.channels.delete({ channelId })
    const report = await importInto(world(), [
      channel('old'),
      message('late', 'old'),
      { record: 'read', channelId: 'old', userId: 'ana', messageId: 'late', createdAt: at(2) },
    ])
    expect(report.imported).toMatchObject({ channels: 0, messages: 0, reads: 0 })
    expect(report.refusals).toEqual([
      { line: 1, reason: 'id: the channel was deleted' },
      { line: 2, reason: 'channelId: the channel was deleted' },
      { line: 3, reason: expect.any(String) },
    ])
  })
})

test('a report names a limited number of the channels that are not finished', async () => {
  const { id: appId, apiKey } = await world().operator.apps.create({ name: 'Cut off' })
  const most = limits.imports.unfinishedShown
  const ids = upTo(most + 1).map((number) => `cut-${number}`)
  const whole = [user('ana'), ...ids.map((id) => channel(id))]
  const text = whole.map((record) => `${JSON.stringify(record)}\n`).join('')
  const { body } = await post({ url: world().url, apiKey }, `${text}{"record"`)
  expect(body.isFinished).toBe(false)
  const all = new Set(ids.map((id) => channelIdOf({ appId }, id)))
  expect(body.unfinishedChannelIds).toHaveLength(most)
  for (const id of body.unfinishedChannelIds) expect(all).toContain(id)
})
