import { join } from 'node:path'
import { expect, test } from 'vitest'
import { useSharedWorld } from '../support/world.ts'
import { parleyOn, useFolder } from './command.ts'

const world = useSharedWorld()
const folder = useFolder()

test('app:export says which file it cannot write', async () => {
  const { operator, databaseUrl } = world()
  const { id } = await operator.apps.create({ name: 'Unwritable' })
  const file = join(folder.path('missing'), 'file')
  expect(await parleyOn(databaseUrl, 'app:export', id, file)).toEqual({
    code: 1,
    output: `${file}: cannot be written (ENOENT)`,
  })
})
