import type { Page } from 'playwright-core'
import { beforeAll, expect, test } from 'vitest'
import { expectHidden, expectVisible, screenshot } from '../support/browser.ts'
import { composer, message, rowOf, say, usePlayground, useTool } from '../support/playground.ts'

const playground = usePlayground()
const TOO_LONG = 'x'.repeat(10_003)
let page: Page
beforeAll(async () => {
  page = await playground.open('?user=ana')
  await rowOf(page, 'Launch week').click()
  await expectVisible(composer(page, 'Launch week'))
})
const editor = () => page.getByRole('textbox', { name: 'Edit message' })

test('text that is selected beyond the edge of a dialog leaves the dialog open', async () => {
  await page.getByRole('button', { name: 'New channel' }).click()
  const dialog = page.getByRole('dialog', { name: 'New channel for Ana' })
  const field = dialog.getByRole('textbox', { name: 'Name' })
  await field.fill('Kitchen')
  await field.hover()
  await page.mouse.down()
  await page.mouse.move(3, 3)
  await page.mouse.up()
  await expect.poll(() => field.count()).toBe(1)
  await page.mouse.click(3, 3)
  await expectHidden(dialog)
})

test('an emoji takes the place of the selection, and the caret stays behind it', async () => {
  const field = composer(page, 'Launch week')
  await field.fill('ab')
  await field.press('ArrowLeft')
  const choose = async () => {
    await page.getByRole('button', { name: 'Insert emoji' }).click()
    await page.getByRole('button', { name: 'Insert grin' }).click()
  }
  await choose()
  await page.keyboard.type('!')
  await expect.poll(() => field.inputValue()).toBe('a😀!b')
  await field.press('Shift+ArrowLeft')
  await choose()
  await expect.poll(() => field.inputValue()).toBe('a😀😀b')
  await field.fill('')
})

test('the search for an emoji keeps the focus when its text is deleted', async () => {
  await page.getByRole('button', { name: 'Insert emoji' }).click()
  await expectVisible(page.getByRole('button', { name: /^Insert / }).and(page.locator(':focus')))
  const search = page.getByRole('searchbox', { name: 'Search emojis' })
  await search.fill('noodles')
  await search.press('Control+A')
  await search.press('Delete')
  await expectVisible(page.getByRole('button', { name: 'Insert grin' }))
  await expect.poll(() => search.and(page.locator(':focus')).count()).toBe(1)
  await page.keyboard.press('Escape')
})

test('text and attachments that are not sent are there again after another channel', async () => {
  await composer(page, 'Launch week').fill('The plan')
  await page.getByRole('button', { name: 'Attach a file' }).click()
  await page.getByRole('textbox', { name: 'Address' }).fill('https://files.test/plan.pdf')
  await page.getByRole('button', { name: 'Attach', exact: true }).click()
  const attached = page.getByRole('list', { name: 'To be attached' })
  await expectVisible(attached.getByText('plan.pdf'))
  await rowOf(page, 'Word chain').click()
  await expectVisible(composer(page, 'Word chain'))
  await expectHidden(attached)
  await rowOf(page, 'Launch week').click()
  await expect.poll(() => composer(page, 'Launch week').inputValue()).toBe('The plan')
  await expectVisible(attached.getByText('plan.pdf'))
  await composer(page, 'Launch week').press('Enter')
  await expectHidden(attached)
  await expectVisible(message(page, 'The plan').getByRole('link', { name: 'plan.pdf' }))
})

test('the focus is back on a message once its editor, question or thread is closed', async () => {
  await say(page, 'In focus', 'Message Launch week')
  const row = message(page.getByRole('log', { name: 'Messages in Launch week' }), 'In focus')
  const focused = page.locator(':focus')
  for (const key of ['Enter', 'Escape']) {
    await useTool(row, 'Edit')
    await editor().fill(`In focus until ${key}`)
    await editor().press(key)
    await expectHidden(editor())
    await expect.poll(async () => [key, await row.and(focused).count()]).toEqual([key, 1])
  }
  await useTool(row, 'Delete')
  await page.getByRole('button', { name: 'Keep' }).press('Enter')
  await expectHidden(page.getByRole('dialog'))
  await expect.poll(() => row.getByRole('button', { name: 'Delete' }).and(focused).count()).toBe(1)
  await useTool(row, 'Reply in thread')
  const reply = page.getByRole('textbox', { name: 'Reply' })
  await reply.hover()
  await expectHidden(row.getByRole('toolbar', { name: 'Message' }))
  await reply.press('Escape')
  await expectHidden(reply)
  await expectVisible(row.and(focused))
})

test('an edit that is too long is not saved until it is shorter', async () => {
  await say(page, 'Short', 'Message Launch week')
  await useTool(message(page, 'Short'), 'Edit')
  await editor().fill(TOO_LONG)
  await editor().press('Enter')
  await expect.poll(() => editor().count()).toBe(1)
  await expectVisible(page.getByText('3 too many'))
  await screenshot(page, 'edit-too-long')
  await expect.poll(() => page.getByRole('button', { name: 'Save' }).isDisabled()).toBe(true)
  await editor().fill('Shorter')
  await editor().press('Enter')
  await expectVisible(message(page, 'Shorter (edited)'))
})

test('a text may be as long as the server allows, which counts an emoji as one', async () => {
  await say(page, `${'😀'.repeat(9_991)} are so many`, 'Message Launch week')
  await expectVisible(page.getByText('3 too many'))
  await say(page, `${'😀'.repeat(9_991)} in a row`, 'Message Launch week')
  const sent = message(page, 'in a row').and(page.locator('[data-status=sent]'))
  await expectVisible(sent)
})

test('Escape of an input method leaves the editor open', async () => {
  await useTool(message(page, 'Shorter'), 'Edit')
  await editor().fill('Not saved yet')
  const pressed = { key: 'Escape', bubbles: true }
  await editor().dispatchEvent('keydown', { ...pressed, isComposing: true })
  await expect.poll(() => editor().count()).toBe(1)
  await editor().dispatchEvent('keydown', pressed)
  await expectHidden(editor())
})

test('a key of an input method neither sends nor chooses, and closes no thread', async () => {
  // Safari ends the composition before the key: only its code says so.
  const enter = { key: 'Enter', keyCode: 229, bubbles: true }
  const field = composer(page, 'Launch week')
  await field.fill('にほんご')
  await field.dispatchEvent('keydown', enter)
  await expect.poll(() => field.inputValue()).toBe('にほんご')
  await page.getByRole('button', { name: 'Insert emoji' }).click()
  const search = page.getByRole('searchbox', { name: 'Search emojis' })
  await search.fill('noodles')
  await search.dispatchEvent('keydown', enter)
  await expect.poll(() => search.count()).toBe(1)
  await search.press('Enter')
  await expect.poll(() => field.inputValue()).toBe('にほんご🍜')
  await field.fill('')

  await page.getByRole('button', { name: '2 replies' }).click()
  const reply = page.getByRole('textbox', { name: 'Reply' })
  const pressed = { key: 'Escape', bubbles: true }
  await reply.dispatchEvent('keydown', { ...pressed, isComposing: true })
  await expect.poll(() => reply.count()).toBe(1)
  await reply.dispatchEvent('keydown', pressed)
  await expectHidden(reply)
})

test("an @ before text that is no member's id is shown as text, not as a mention", async () => {
  await say(page, 'For @be and @ben', 'Message Launch week')
  const text = message(page, 'For @be and').locator('.message-text')
  await expectVisible(text.getByText('@Ben'))
  expect(await text.getByRole('button').allInnerTexts()).toEqual(['@Ben'])
  await expectVisible(rowOf(page, 'Launch week').getByText('You: For @be and @Ben'))
})

test('a profile that could not be loaded offers no message to its user', async () => {
  await page.route('**/api/users/ben', (route) => route.abort('connectionrefused'))
  await message(page, 'For @be and').getByText('@Ben').click()
  const profile = page.getByRole('dialog', { name: 'Profile' })
  await expectVisible(profile.getByRole('alert'))
  await expectHidden(profile.getByRole('button', { name: 'Message' }))
  await expectHidden(profile.getByText(/active/i))
  await page.keyboard.press('Escape')
  await page.unroute('**/api/users/ben')
  const problems = playground.problems.splice(0)
  expect(problems.every((problem) => problem.includes('ERR_CONNECTION_REFUSED'))).toBe(true)
})

test('typing a space after a chosen mention adds no second space', async () => {
  const field = composer(page, 'Launch week')
  await field.pressSequentially('For @be')
  await expectVisible(page.getByRole('option', { name: /Ben Okafor/ }))
  await field.press('Enter')
  await expect.poll(() => field.inputValue()).toBe('For @ben ')
  await field.pressSequentially(' a  b')
  await expect.poll(() => field.inputValue()).toBe('For @ben a  b')
  await field.fill('')
})

test("sending an answer removes the user's line above new messages", async () => {
  const ben = playground.backend().as('ben')
  const { channels } = await ben.channels.list()
  const { id: channelId = '' } = channels.find(({ name }) => name === 'Word chain') ?? {}
  await ben.messages.send({ channelId, text: 'rhubarb' })
  await rowOf(page, 'Word chain.*1 unread message').click()
  const line = page.locator('.divider-new')
  await expectVisible(line)
  await say(page, 'bread', 'Message Word chain')
  await expectHidden(line)
  await rowOf(page, 'Launch week').click()
})
