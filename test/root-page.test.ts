import { expect, test } from 'vitest'
import { post } from './support/raw.ts'
import { useWorld } from './support/world.ts'

const withConsole = useWorld({ hasConsole: true })
const withDocs = useWorld({ hasConsole: true, hasDocsPage: true })
const without = useWorld()

const ask = async ({ url }: { url: string }) => {
  const { status, headers } = await post(url, '/?from=here', { method: 'GET' })
  return [status, headers.location]
}

// With a demo app it is the playground: `playground.test.ts`.
test('/ leads to the docs, or to the console where there are none', async () => {
  expect(await ask(withDocs())).toEqual([302, 'docs/?from=here'])
  expect(await ask(withConsole())).toEqual([302, 'console/?from=here'])
})

test('/ is no route of a server without pages', async () => {
  expect(await ask(without())).toEqual([404, undefined])
})
