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
  await expectVisible(message(page, 'Then take Ben offline'))
  const top = await page.getByRole('log').evaluate((log) => log.getBoundingClientRect().top)
  // The part above the messages takes at most 14 % of a phone's 844 pixels.
  if (name === 'narrow') expect(top).toBeLessThanOrEqual(0.14 * 844)
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
  await expect.poll(() => quote.textContent()).toContain('Then take Ben offline')
  await expectHidden(page.locator('.composer-quote'))
  await expectVisible(page.getByText(/^Sent$|^Seen by /))
  await screenshot(page, `quote-${name}-${colorScheme}`)
  await expectAccessible(page)
  await page.context().close()
})

test('the quote of a reply opens its thread, even after the root was deleted', async () => {
  const ben = playground.backend().as('ben')
  const { channels } = await ben.channels.list({})
  const { id: channelId = '' } = channels.find(({ name }) => name === 'Welcome') ?? {}
  const root = await ben.messages.send({ channelId, text: 'The root of a thread' })
  const reply = { channelId, parentId: root.id }
  const { id: quotedMessageId } = await ben.messages.send({ ...reply, text: 'The reply' })
  for (let number = 0; number < 60; number++)
    await ben.messages.send({ ...reply, text: `Reply ${number}` })
  await ben.messages.send({ channelId, text: 'A quote of it', quotedMessageId })
  const page = await playground.open('?user=ben')
  await rowOf(page, 'Welcome').click()
  const thread = page.getByRole('complementary', { name: 'Thread' })
  const found = message(thread, 'The reply').and(page.locator(':focus'))
  await message(page, 'A quote of it').locator('button.quoted').click()
  await expectVisible(found)
  await expectVisible(message(thread, 'The root of a thread'))
  await ben.messages.delete({ channelId, messageId: root.id })
  await page.reload()
  await rowOf(page, 'Welcome').click()
  await message(page, 'A quote of it').locator('button.quoted').click()
  await expectVisible(found)
  await expectVisible(thread.getByText('The message that began it was deleted.'))
  // The root itself is asked for.
  expect(playground.problems.splice(0).every((problem) => problem.includes('404'))).toBe(true)
  await page.context().close()
})

test('a quoted reply in the middle of a thread stays in view', async () => {
  const ben = playground.backend().as('ben')
  const { id: channelId } = await ben.channels.create({ type: 'group', name: 'Long thread' })
  const root = await ben.messages.send({ channelId, text: 'The root' })
  const replies = []
  for (let number = 0; number < 30; number++)
    replies.push(await ben.messages.send({ channelId, parentId: root.id, text: `${number}.` }))
  await ben.messages.send({ channelId, text: 'A quote', quotedMessageId: replies[9]?.id ?? '' })
  const page = await playground.open('?user=ben')
  await rowOf(page, 'Long thread').click()
  await message(page, 'A quote').locator('button.quoted').click()
  const thread = page.getByRole('complementary', { name: 'Thread' })
  const found = message(thread, '9.').and(page.locator(':focus'))
  await expectVisible(found)
  await expectVisible(message(thread, '29.'))
  for (let frame = 0; frame < 10; frame++)
    await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(resolve)))
  const isInView = await found.evaluate((row) => {
    const box = row.closest('.log')?.getBoundingClientRect()
    const { top, bottom } = row.getBoundingClientRect()
    return box && top >= box.top && bottom <= box.bottom
  })
  expect(isInView).toBe(true)
  await page.context().close()
})
