import { once } from '@parley/server/http/once'
import { expect, test } from 'vitest'

test('a created value is kept, and a failed creation is tried again', async () => {
  const created: string[] = []
  const bundle = once(async () => {
    created.push('bundle')
    if (created.length === 1) throw new Error('not built yet')
    return created.length
  })
  await expect(Promise.all([bundle(), bundle()])).rejects.toThrow('not built yet')
  expect(await Promise.all([bundle(), bundle()])).toEqual([2, 2])
  expect(await bundle()).toBe(2)
  expect(created).toHaveLength(2)
})
