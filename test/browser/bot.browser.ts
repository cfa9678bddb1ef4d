import { spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { expectAccessible, expectHidden, expectVisible, screenshot } from '../support/browser.ts'
import { root } from '../support/consumer.ts'
import { message, rowOf, say, usePlayground } from '../support/playground.ts'
import { useChildren } from '../support/start.ts'

const playground = usePlayground()
const { adopt } = useChildren()

/** The example bot, as `docs/bots.md` starts it. Resolves once it answers. */
async function startBot() {
  const variables = { URL: new URL(playground.url()).origin, API_KEY: playground.apiKey() }
  const program = ['--conditions=parley-source', '--import', 'tsx', 'examples/bot/main.ts']
  const child = spawn(process.execPath, program, {
    cwd: root,
    env: { PATH: process.env.PATH, ...variables },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  adopt(child)
  const [line] = await once(child.stdout, 'data')
  expect(String(line)).toContain('answers direct messages')
  return child
}

async function openDirectMessages(page: Page) {
  await page.getByRole('button', { name: 'New channel' }).click()
  await page.getByRole('radio', { name: /Direct/ }).check()
  await page.getByRole('radio', { name: 'Reader' }).check()
  await page.getByRole('button', { name: 'Open', exact: true }).click()
}
const start = 'I have no model behind me'
const end = 'put your model into the function'

test('the example bot answers in the playground, in every window as it grows', async () => {
  await startBot()
  const page = await playground.open('?user=ana')
  await openDirectMessages(page)
  await say(page, 'What do you have?', 'Message Reader')
  const answer = message(page, start)
  const half = await answer.filter({ has: page.locator('.caret') }).textContent()
  await screenshot(page, 'bot-answers')
  // Another window of the same user, in the middle.
  const other = await playground.open('?user=ana')
  await rowOf(other, 'Reader').click()
  await expectVisible(message(other, start))
  for (const one of [page, other]) {
    await expectVisible(message(one, start).filter({ hasText: end }))
    await expectHidden(message(one, start).locator('.caret'))
  }
  expect(half).not.toContain(end)
  await expect.poll(() => message(other, start).count()).toBe(1)
  await expect.poll(() => message(other, start).textContent()).toBe(await answer.textContent())
  await screenshot(page, 'bot-has-answered')
  await expectAccessible(page)
})

test('the answer of a bot that dies is shown as interrupted', async () => {
  const bot = await startBot()
  const page = await playground.open('?user=ben')
  await openDirectMessages(page)
  await say(page, 'And you?', 'Message Reader')
  await expectVisible(message(page, start).locator('.caret'))
  bot.kill('SIGKILL')
  await expectVisible(message(page, start).getByText('(interrupted)'))
  await expectHidden(message(page, start).locator('.caret'))
  expect(await message(page, end).count()).toBe(0)
})
