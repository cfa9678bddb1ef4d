import { limits } from '@parley/contract'
import { expect, test } from 'vitest'
import { useWorld } from './support/world.ts'

const world = useWorld()

test('health reports the version and the database, and liveness only the version', async () => {
  const { url } = world()
  const answer = async (path: string) => {
    const response = await fetch(url + path)
    return { status: response.status, body: await response.json() }
  }
  expect(await answer('/health')).toEqual({
    status: 200,
    body: { status: 'ok', version: limits.apiVersion, checks: { database: 'ok' } },
  })
  expect(await answer('/health/live')).toEqual({
    status: 200,
    body: { status: 'ok', version: limits.apiVersion },
  })
})
