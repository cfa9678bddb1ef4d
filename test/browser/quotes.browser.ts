import { expect, test } from 'vitest'
import { expectAccessible, expectHidden, expectVisible, screenshot } from '../support/browser.ts'
import { composer, message, rowOf, usePlayground, useTool } from '../support/playground.ts'

const playground = usePlayground()
const wide = { width: 1100, height: 760 }
const narrow = { width: 390, height: 780 }

test.each([
  ['wide', 'light', wide],
  ['wide', 'dark', wide],
  ['narrow', 'light', narrow],
  ['narrow', 'dark', narrow],
] as const)('on a %s %s screen a message quotes another', async (name, colorScheme, viewport) => {
  const page = await playground.open('?user=ben', { viewport, colorScheme })
  await rowOf(page, 'Welcome').click()
  await useTool(message(page, 'Then take Ben offline').first(), 'Quote')
  await expectVisible(page.locator('.composer-quote'))
  await page.keyboard.press('Escape')
  await expectHidden(page.locator('.composer-quote'))
  await useTool(message(page, 'Then take Ben offline').first(), 'Quote')
  const text = `I shall, ${name} and ${colorScheme}`
  await composer(page, 'Welcome').fill(text)
  await screenshot(page, `quoting-${name}-${colorScheme}`)
  await composer(page, 'Welcome').press('Enter')
  const quote = message(page, text).locator('button.quoted')
  await expectVisible(quote)
  expect(await quote.textContent()).toContain('Then take Ben offline')
  await expectHidden(page.locator('.composer-quote'))
  await expectVisible(page.getByText(/^Sent$|^Seen by /))
  await screenshot(page, `quote-${name}-${colorScheme}`)
  await expectAccessible(page)
  await page.context().close()
})
