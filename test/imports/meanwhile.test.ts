import { limits } from '@parley/contract'
import { selectUserFacts } from '@parley/server/features/imports/facts'
import { expect, test } from 'vitest'
import { upTo } from '../support/events.ts'
import { waitingForRows, whileRowLocked } from '../support/locks.ts'
import { useWorld } from '../support/world.ts'
import { channel, post, user } from './records.ts'

const world = useWorld()

test('a channel that its file has twice is refused once, by its first line', async () => {
  const { db, url, operator } = world()
  const { id: appId, apiKey } = await operator.apps.create({ name: 'Moving in' })
  const direct = { type: 'messaging', name: undefined, memberIds: ['ana', 'max'] }
  const records = [
    ...[user('ana'), user('max'), channel('direct', direct), channel('direct', direct)],
    // The batch is full, so that it is stored before the file ends.
    ...upTo(limits.imports.batch.lines).map(() => user('ana')),
  ]
  let end = () => {}
  const ended = new Promise<void>((resolve) => {
    end = resolve
  })
  async function* file() {
    yield records.map((record) => `${JSON.stringify(record)}\n`).join('')
    await ended
  }
  const running = post({ url, apiKey }, ReadableStream.from(file()) as never)
  await expect.poll(() => db`select from channels where app_id = ${appId}`).toHaveLength(1)
  const ana = world().api({ apiKey, userId: 'ana' })
  await ana.channels.create({ type: 'messaging', memberIds: ['max'] })
  end()
  expect((await running).body.refusals).toEqual([
    { line: 3, reason: 'memberIds: the two have a direct message already' },
  ])
})

test('a user whose records are being stored is deleted after that', async () => {
  const { backend, appId } = world()
  await backend.users.put({ userId: 'named', name: 'Named' })
  const deletion = await whileRowLocked(
    world(),
    (db) => selectUserFacts(db, appId, ['named']),
    async () => {
      const deleted = backend.users.delete({ userId: 'named' })
      const waits = waitingForRows(world(), 1)
      const first = [deleted.then(() => 'deleted'), waits.then(() => 'waits')]
      expect(await Promise.race(first)).toBe('waits')
      return { deleted }
    },
  )
  expect(await deletion.deleted).toMatchObject({ success: true })
})
