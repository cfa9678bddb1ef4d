import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createChatServer } from '@parley/client/server'
import ts from 'typescript'
import { expect, test } from 'vitest'
import { root } from './support/consumer.ts'
import { useWorld } from './support/world.ts'

const world = useWorld()

/** Runs the examples of a page as one program; returns the values of these variables. */
async function runExamples(page: string, given: Record<string, unknown>, results: string[]) {
  const blocks = readFileSync(join(root, page), 'utf8').matchAll(/```ts\n([\s\S]*?)```/g)
  const statements = [...blocks]
    .map(([, block = '']) => block.replace(/^import .*$/gm, ''))
    .filter((block) => !block.startsWith('declare '))
  const code = statements.join('\n')
  const body = `(async () => {\n${code}\nreturn { ${results.join(', ')} }\n})()`
  const { outputText } = ts.transpileModule(body, {
    compilerOptions: { target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.ESNext },
  })
  const run = new Function(...Object.keys(given), `return ${outputText}`)
  return run(...Object.values(given))
}

test('the examples for backends work as they are', async () => {
  const { url, apiKey } = world()
  const given = { createChatServer, url, apiKey }
  const results = await runExamples('docs/backends.md', given, [
    'channel',
    'answer',
    'updated',
    'support',
    'note',
  ])
  const { channel, answer, updated, support, note } = results
  const ben = world().api({ apiKey, userId: 'ben' })
  const { messages } = await ben.messages.list({ channelId: channel.id })
  expect(messages.map(({ userId, text }) => [userId, text])).toEqual([
    ['order-bot', 'Your order is on its way.'],
    ['ben', 'Thanks!'],
    ['order-bot', 'Packed.'],
    ['order-bot', 'Still packing.'],
  ])
  expect(note.type).toBe('system')
  expect(await ben.channels.get({ channelId: support.id })).toMatchObject({ frozen: true })
  expect(updated.custom).toEqual({ orderId: 7, parcels: 2 })
  expect(answer.user.name).toBe('Ben')
})
