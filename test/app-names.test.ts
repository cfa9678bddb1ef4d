import { expect, test } from 'vitest'
import { invalid, refusal } from './support/refusal.ts'
import { useSharedWorld } from './support/world.ts'

const world = useSharedWorld()

test('an app is neither created with nor renamed to a name of only blanks', async () => {
  const { operator } = world()
  const { id: appId } = await operator.apps.create({ name: ' Blank names ' })
  for (const name of [' ', '\n\t ', '\u00a0']) {
    expect(await refusal(operator.apps.create({ name }))).toEqual(invalid)
    expect(await refusal(operator.apps.update({ appId, name }))).toEqual(invalid)
  }
  const empty = await operator.apps.create({ name: '' }).catch((error: unknown) => error)
  expect(empty).toMatchObject({ message: expect.stringMatching(/at least 1 character$/) })
  expect((await operator.apps.get({ appId })).name).toBe(' Blank names ')
})
