import type { Page } from 'playwright-core'
import { beforeAll, expect, test } from 'vitest'
import { expectVisible } from '../support/browser.ts'
import { usePlayground } from '../support/playground.ts'

const playground = usePlayground()
let docs: Page
beforeAll(async () => {
  docs = await playground.open('../docs')
})
const formOf = async (noun: string, verb: string) => {
  await docs.evaluate((hash) => {
    location.hash = hash
  }, `#/api/${noun}/${noun}.${verb}`)
  return docs.getByRole('form', { name: `Try ${noun}.${verb}` })
}

test('the prefilled body creates a channel as it is', async () => {
  const form = await formOf('channels', 'create')
  await form.getByRole('button', { name: 'Choose credentials' }).click()
  const dialog = docs.getByRole('dialog', { name: 'Credentials' })
  await dialog.getByRole('button', { name: 'ana' }).click()
  await form.getByRole('button', { name: 'Send' }).click()
  await expectVisible(form.getByText('201'))
})

test.each([
  ['apps', 'update', { name: 'Acme Talk' }],
  ['apps', 'updateKey', { name: 'Billing' }],
  ['channels', 'update', { name: 'Kitchen talk' }],
  ['webhooks', 'update', { description: expect.any(String) }],
])('the prefilled body for %s.%s changes one field', async (noun, verb, body) => {
  const form = await formOf(noun, verb)
  const text = await form.getByRole('textbox', { name: 'Body' }).inputValue()
  expect(JSON.parse(text)).toEqual(body)
})
