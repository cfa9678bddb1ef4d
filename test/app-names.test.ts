import { expect, test } from 'vitest'
import { invalid, refusal } from './support/refusal.ts'
import { useSharedWorld } from './support/world.ts'

const world = useSharedWorld()

test('the name of an app is not only blanks, when it is made and when it is renamed', async () => {
  const { operator } = world()
  const { id: appId } = await operator.apps.create({ name: ' Blank names ' })
  for (const name of [' ', '\n\t ', '\u00a0']) {
    expect(await refusal(operator.apps.create({ name }))).toEqual(invalid)
    expect(await refusal(operator.apps.update({ appId, name }))).toEqual(invalid)
  }
  expect((await operator.apps.get({ appId })).name).toBe(' Blank names ')
})
