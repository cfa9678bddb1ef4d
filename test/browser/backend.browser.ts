import { createApi } from '@parley/client/api'
import { expect, test } from 'vitest'
import { expectAccessible, expectHidden, expectVisible, screenshot } from '../support/browser.ts'
import { composer, message, rowOf, usePlayground, useTool } from '../support/playground.ts'
import { forbidden, refusal } from '../support/refusal.ts'
import { patient } from '../support/until.ts'

const playground = usePlayground()

test('a system message of the backend is shown without an author', async () => {
  const page = await playground.open('?user=ben')
  await rowOf(page, 'Welcome').click()
  await expectVisible(message(page, 'Then take Ben offline').first())
  const backend = playground.backend()
  const { channels } = await backend.channels.list({})
  const { id: channelId = '' } = channels.find(({ name }) => name === 'Welcome') ?? {}
  await backend.messages.send({ channelId, text: 'The shop closes at six.' })
  const said = message(page, 'The shop closes at six.')
  await expectVisible(said)
  await expectHidden(said.locator('.avatar'))
  await expectHidden(said.getByText('System'))
  expect(await rowOf(page, 'Welcome').textContent()).not.toContain('System')
  await screenshot(page, 'system-message')
  await expectAccessible(page)
  await page.context().close()
})

test("a message that the app's backend refuses is shown as not sent, with its reason", async () => {
  // The first visit writes the messages of the demo.
  const first = await playground.open('?user=ben')
  await expectVisible(rowOf(first, 'Welcome'))
  const backend = playground.backend()
  const url = `${playground.web()}/before-send`
  await backend.hooks.setBeforeSend({ url, onError: 'deny' })
  // For users who called before, the server may not know of the hook for five seconds.
  const { token } = await backend.tokens.create({ userId: 'cleo' })
  const { streams } = createApi({ url: new URL(playground.url()).origin, token })
  const nothing = { channelId: crypto.randomUUID(), messageId: crypto.randomUUID() }
  const append = () => refusal(streams.append({ ...nothing, text: '', at: 0 }))
  await expect.poll(append, patient).toEqual(forbidden)
  const page = await playground.open('?user=cleo')
  await rowOf(page, 'Welcome').click()
  await composer(page, 'Welcome').fill('Soup?')
  await composer(page, 'Welcome').press('Enter')
  await expectVisible(message(page, 'Soup?').getByText('Not sent. No soup on Mondays'))
  await screenshot(page, 'refused-by-hook')
  await useTool(message(page, 'Welcome to the playground').first(), 'Edit')
  await page.getByRole('textbox', { name: 'Edit message' }).fill('Soup!')
  await page.keyboard.press('Enter')
  await expectVisible(page.locator('.toast').getByText('No soup on Mondays.', { exact: true }))
  expect(playground.problems.splice(0).every((problem) => problem.includes('403'))).toBe(true)
})
