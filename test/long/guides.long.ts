import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { clientPackages, createConsumer, installPacked, nodeStyle } from '../support/consumer.ts'
import { examplesOf } from '../support/examples.ts'

const pages = [
  ...['authentication', 'backends', 'before-send', 'bots', 'custom-data', 'import'],
  ...['migration', 'webhooks'],
]
/** The variables that the pages expect a reader to have. */
const given = 'declare const url: string, apiKey: string, appId: string'

test('the examples of the guides compile strictly, their imports included', async () => {
  const consumer = createConsumer('client.ts', [...clientPackages, 'uuid'])
  await installPacked('client-sdk', consumer.folder)
  const files = pages.map((page) => {
    const examples = examplesOf(`docs/${page}.md`)
    expect(examples.length, page).toBeGreaterThan(0)
    writeFileSync(join(consumer.folder, `${page}.ts`), [given, ...examples, 'export {}'].join('\n'))
    return `${page}.ts`
  })
  await consumer.compile(7, { ...nodeStyle, types: ['node'] }, files)
})
