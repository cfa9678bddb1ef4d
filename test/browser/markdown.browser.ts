import { plainText } from '@parley/client/internal/playground/markdown'
import type { Page } from 'playwright-core'
import { beforeAll, expect, test } from 'vitest'
import { expectVisible, screenshot } from '../support/browser.ts'
import { composer, message, rowOf, usePlayground } from '../support/playground.ts'

const playground = usePlayground()
let ana: Page
beforeAll(async () => {
  ana = await playground.open('?user=ana')
  await expectVisible(message(ana, 'Ready when you are'))
  await expectVisible(ana.getByText('Live', { exact: true }))
})

/** Sends a message, and returns the text of it as it is rendered, once it is stored. */
async function rendered(text: string, shown: string) {
  await composer(ana, 'Welcome').fill(text)
  await composer(ana, 'Welcome').press('Enter')
  const row = message(ana, shown).and(ana.locator('[data-status=sent]')).last()
  await row.waitFor()
  return row.locator('.message-text')
}

test('bold, italic, struck and code text is shown as such, and may be nested', async () => {
  const text = await rendered('A *bold _both_* ~gone~ `*raw*` word', 'A bold both gone *raw* word')
  await expect
    .poll(() => text.innerHTML())
    .toBe('A <strong>bold <em>both</em></strong> <s>gone</s> <code>*raw*</code> word')
})

test('quotes, lists and blocks of code stand on their own', async () => {
  const lines = [
    'Plan:',
    '- soup',
    '- *salad*',
    '1. cook',
    '> who?',
    '```',
    'a * b',
    '```',
    'End of it',
  ]
  const text = await rendered(lines.join('\n'), 'End of it')
  await screenshot(ana, 'markdown')
  await expect
    .poll(() => text.innerHTML())
    .toBe(
      'Plan:<ul><li>soup</li><li><strong>salad</strong></li></ul><ol start="1"><li>cook</li></ol>' +
        '<blockquote>who?</blockquote><pre>a * b</pre>End of it',
    )
})

test('marks within words, among spaces or without an end are plain text', async () => {
  const plain = 'snake_case_name 2 * 3 * 4 **** *open ~5 and_'
  const text = await rendered(plain, 'snake_case_name')
  await expect.poll(() => text.innerHTML()).toBe(plain)
})

test('HTML in a message is text, and links and mentions work within a style', async () => {
  const text = await rendered(
    '<img src=x onerror=alert(1)> *see https://example.com/a_b_c @ben*',
    'example.com/a_b_c',
  )
  expect(await text.locator('img').count()).toBe(0)
  await expect.poll(() => text.innerText()).toContain('<img src=x onerror=alert(1)>')
  const link = text.locator('strong').getByRole('link', { name: 'example.com/a_b_c' })
  await expect.poll(() => link.getAttribute('href')).toBe('https://example.com/a_b_c')
  await expectVisible(text.locator('strong .mention').getByText('@Ben'))
})

test('brackets belong to a link in pairs, and those around it do not', async () => {
  const text = await rendered(
    'See https://example.com/Slack_(software), (or https://example.com/b).',
    'See example.com/Slack_(software), (or example.com/b).',
  )
  const links = text.getByRole('link')
  await expect
    .poll(() => links.evaluateAll((all) => all.map((link) => link.getAttribute('href'))))
    .toEqual(['https://example.com/Slack_(software)', 'https://example.com/b'])
})

test('the list of channels shows the last message without its marks', async () => {
  await rendered('*Lunch* at `12`', 'Lunch at 12')
  await expectVisible(rowOf(ana, 'You: Lunch at 12'))
})

test('keys set and remove a style around the selected text of the composer', async () => {
  const field = composer(ana, 'Welcome')
  await field.fill('nice')
  for (const [keys, marked] of [
    ['ControlOrMeta+b', '*nice*'],
    ['ControlOrMeta+i', '_nice_'],
    ['ControlOrMeta+Shift+x', '~nice~'],
    ['ControlOrMeta+e', '`nice`'],
  ] as const) {
    await field.evaluate((element: HTMLTextAreaElement) =>
      element.setSelectionRange(0, element.value.length),
    )
    await field.press(keys)
    await expect.poll(() => field.inputValue()).toBe(marked)
    await field.press(keys)
    await expect.poll(() => field.inputValue()).toBe('nice')
  }
  await field.press('ControlOrMeta+b')
  await field.press('Enter')
  await expectVisible(message(ana, 'nice').locator('strong'))
})

test('on a Mac ⌘ is the key of shortcuts, and Ctrl edits the text as everywhere', async () => {
  const userAgent = 'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7)'
  const mac = await playground.open('?user=ana', { userAgent })
  const field = composer(mac, 'Welcome')
  await field.fill('nice')
  await field.selectText()
  for (const key of ['b', 'i', 'e', 'k']) await field.press(`Control+${key}`)
  await expect.poll(() => field.inputValue()).toBe('nice')
  expect(await mac.getByRole('dialog').count()).toBe(0)
  await field.press('Meta+b')
  await expect.poll(() => field.inputValue()).toBe('*nice*')
  await field.press('Meta+k')
  await expectVisible(mac.getByRole('dialog', { name: 'Jump to' }))
  await mac.context().close()
})

test('a long message of marks or brackets is parsed quickly', () => {
  const marks = ['*a '.repeat(3_333), '**_~'.repeat(2_500), '`'.repeat(10_000)]
  const brackets = ['('.repeat(9_990), 'a('.repeat(4_995), `${'(a)'.repeat(3_330)}.`]
  for (const text of [...marks, ...brackets.map((path) => `https://${path}`)]) {
    const start = performance.now()
    expect(plainText(text)).not.toBe('')
    expect(performance.now() - start).toBeLessThan(2_000)
  }
})
