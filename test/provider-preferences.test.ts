import type { ServerResponse } from 'node:http'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { serveProvider } from './support/provider.ts'
import { until } from './support/until.ts'
import { createWorld, type World } from './support/world.ts'

let provider: Awaited<ReturnType<typeof serveProvider>>
let world: World
const statements: string[] = []
beforeAll(async () => {
  provider = await serveProvider()
  const onStatement = (statement: string) => void statements.push(statement)
  world = await createWorld({ jobs: { push: provider.settings }, onStatement })
})
afterAll(async () => {
  await world.stop()
  await provider.stop()
})

const reads = () => provider.calls.filter(({ path }) => path.endsWith('/preferences'))
const asked = () => statements.filter((text) => /^\s*select chosen\s+from preferences/.test(text))
const kept = { channels: [{ channel: 'push', enabled: true }], workflows: [] }
const body = JSON.stringify({ data: { global: { channels: { push: true } }, workflows: [] } })

/** Holds back the answers of the provider until they are released. */
function holdAnswers() {
  provider.forget()
  statements.length = 0
  const held: ServerResponse[] = []
  provider.behave((response) => held.push(response))
  const release = () => {
    provider.behave((response) => response.end(body))
    for (const response of held) response.end(body)
  }
  return { release }
}

test('concurrent reads of the preferences of a user make one call to the provider', async () => {
  const [ana] = await world.users('ana')
  const { release } = holdAnswers()
  const gets = Array.from({ length: 50 }, () => ana.preferences.get())
  await until(() => asked().length === 50 && reads().length > 0)
  release()
  const answers = (await Promise.all(gets)).map(({ providerPreferences }) => providerPreferences)
  expect(answers).toEqual(Array(50).fill(kept))
  expect(reads()).toHaveLength(1)
  await ana.preferences.get()
  expect(reads()).toHaveLength(2)
})

test('few reads of preferences wait for the provider at once, and others do without', async () => {
  const names = Array.from({ length: 25 }, (_, n) => `reader-${n}`)
  const users = await Promise.all(names.map((name) => world.user(name)))
  const { release } = holdAnswers()
  const early: unknown[] = []
  const gets = users.map(async ({ preferences }) => {
    const { providerPreferences } = await preferences.get()
    early.push(providerPreferences)
    return providerPreferences
  })
  await until(() => reads().length + early.length === users.length)
  expect(early).toEqual(Array(5).fill({ channels: [], workflows: [] }))
  release()
  expect((await Promise.all(gets)).filter(({ channels }) => channels.length > 0)).toHaveLength(20)
  expect(reads()).toHaveLength(20)
})
