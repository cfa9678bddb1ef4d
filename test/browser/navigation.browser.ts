import { beforeAll, expect, test } from 'vitest'
import { expectAccessible, expectHidden, expectVisible, screenshot } from '../support/browser.ts'
import { composer, message, rowOf, say, usePlayground } from '../support/playground.ts'
import { patient, until } from '../support/until.ts'

const playground = usePlayground()
const phone = { width: 390, height: 844 }
beforeAll(() => playground.visit())

/** The page of both users. */
async function openPanes() {
  const page = await playground.openInTest('', { viewport: { width: 1280, height: 800 } })
  const paneOf = (name: string) => page.getByRole('region', { name: `Chat of ${name}` })
  const [ana, ben] = [paneOf('ana'), paneOf('ben')]
  for (const pane of [ana, ben]) await expectVisible(pane.getByText('Live', { exact: true }))
  const dialog = (name: string) => page.getByRole('dialog', { name })
  return { page, ana, ben, jump: dialog('Jump to'), profile: dialog('Profile') }
}

test('Ctrl+K finds channels and people by the beginnings of their words', async () => {
  const { page, ana, jump } = await openPanes()
  await page.keyboard.press('Control+k')
  const field = jump.getByRole('combobox')
  await expectVisible(jump.getByRole('option', { name: 'Cleo Martin' }))
  await field.fill('cha wo')
  await expectVisible(jump.getByRole('option', { name: 'Word chain' }))
  await expect.poll(() => jump.getByRole('option').count()).toBe(1)
  await field.fill('nobody')
  await expectVisible(jump.getByText('Nothing was found.'))
  await field.press('Escape')
  await expectHidden(jump)
  await page.keyboard.press('Control+k')
  await field.fill('wo')
  await field.press('Enter')
  await expectVisible(ana.getByRole('textbox', { name: 'Message Word chain' }))
  await expectHidden(jump)
})

test('Ctrl+K jumps in the pane that has the focus, and to a person it opens messages', async () => {
  const { page, ana, ben, jump } = await openPanes()
  await rowOf(page, 'Word chain').first().click()
  await ben.getByRole('textbox', { name: /^Message/ }).focus()
  await page.keyboard.press('Control+k')
  await page.keyboard.type('cleo')
  await expectVisible(jump.getByRole('option', { name: 'Cleo Martin' }))
  await page.keyboard.press('Enter')
  await expectVisible(ben.getByRole('textbox', { name: 'Message Cleo Martin' }))
  await expectVisible(ana.getByRole('textbox', { name: 'Message Word chain' }))
})

test('the name of an author opens their profile, and from there direct messages', async () => {
  const { page, ana, profile } = await openPanes()
  await rowOf(page, 'Welcome').first().click()
  await ana.getByRole('log').getByRole('button', { name: 'Cleo Martin' }).first().click()
  await expectVisible(profile.getByText('@cleo'))
  await profile.getByRole('button', { name: 'Message' }).click()
  await expectVisible(ana.getByRole('textbox', { name: 'Message Cleo Martin' }))
  await ana.getByRole('button', { name: 'Channel details' }).click()
  await ana.getByRole('button', { name: 'Ana Sousa you' }).click()
  await expectVisible(profile.getByText('@ana'))
  expect(await profile.getByRole('button', { name: 'Message' }).count()).toBe(0)
})

test('Enter opens what was found, and does not press the button below the dialog', async () => {
  const { page, ana, jump } = await openPanes()
  const button = ana.getByRole('button', { name: /Jump to/ })
  for (const [query, found] of [
    ['launch', 'Launch week'],
    ['cleo', 'Cleo Martin'],
  ] as const) {
    await button.press('Enter')
    await jump.getByRole('combobox').fill(query)
    await expectVisible(jump.getByRole('option', { name: found }))
    await page.keyboard.press('Enter')
    await expectVisible(ana.getByRole('textbox', { name: `Message ${found}` }))
    await expectHidden(jump)
  }
})

test('Ctrl+K opens nothing while a form is being filled in', async () => {
  const { page, ana } = await openPanes()
  await ana.getByRole('button', { name: 'New channel' }).click()
  const field = page.getByRole('dialog').getByRole('textbox', { name: 'Name' })
  await field.fill('Half a na')
  await page.keyboard.press('Control+k')
  await page.keyboard.type('me')
  await expect.poll(() => field.inputValue()).toBe('Half a name')
  await expect.poll(() => page.getByRole('dialog').count()).toBe(1)
})

test('opening messages from a profile without a network closes it and says why', async () => {
  const { page, ana, profile } = await openPanes()
  await rowOf(page, 'Welcome').first().click()
  await ana.getByRole('log').getByRole('button', { name: 'Cleo Martin' }).first().click()
  await expectVisible(profile.getByText('@cleo'))
  await page.route('**/api/channels', (route) => route.abort('connectionrefused'))
  await profile.getByRole('button', { name: 'Message' }).click()
  await expectVisible(ana.getByText('That needs the network'))
  await expectHidden(profile)
  const problems = playground.problems.splice(0)
  expect(problems.every((problem) => problem.includes('ERR_CONNECTION_REFUSED'))).toBe(true)
})

test.each(['light', 'dark'] as const)(
  'the %s jump dialog and profiles are accessible, also on a phone',
  async (colorScheme) => {
    const narrow = await playground.openInTest('?user=ana', { viewport: phone, colorScheme })
    await expectVisible(rowOf(narrow, 'Welcome'))
    await narrow.getByRole('button', { name: /Jump to/ }).click()
    await expectVisible(narrow.getByRole('option', { name: 'Welcome' }))
    await screenshot(narrow, `jump-phone-${colorScheme}`)
    await expectAccessible(narrow)
    await narrow.getByRole('option', { name: 'Welcome' }).click()
    await message(narrow, 'Ready when').getByRole('button', { name: 'Ben Okafor' }).click()
    await expectVisible(narrow.getByRole('dialog').getByText('@ben'))
    await screenshot(narrow, `profile-phone-${colorScheme}`)
    await expectAccessible(narrow)
  },
)

/** A new channel of Ana's and Ben's, with how much of it Ana has not read. */
async function createChannel(name: string) {
  const [ana, ben] = [playground.backend().as('ana'), playground.backend().as('ben')]
  const { id: channelId } = await ana.channels.create({ type: 'group', name, memberIds: ['ben'] })
  const unreadCount = async () => (await ana.channels.get({ channelId })).unreadCount
  return { channelId, ana, ben, unreadCount }
}

test('a reply is shown only in its thread, and is read with its channel', async () => {
  const { channelId, ...users } = await createChannel('Planning')
  const { id: parentId } = await users.ben.messages.send({ channelId, text: 'The plan' })
  for (const text of ['Reads well', 'Thanks'])
    await users.ben.messages.send({ channelId, text, parentId })
  const [ana, ben] = await openBoth()
  await rowOf(ana, 'Planning').click()
  await expectVisible(composer(ana, 'Planning'))
  await rowOf(ben, 'Planning').click()
  await ben.getByRole('button', { name: '2 replies' }).click()
  await say(ben, 'And the date?', 'Reply')
  await expectVisible(ana.getByRole('button', { name: '3 replies' }))
  await expectHidden(rowOf(ana, 'Planning.*unread'))
  expect(await message(ana, 'And the date?').count()).toBe(0)
  await message(ben, 'And the date?').hover()
  await message(ben, 'And the date?').getByRole('button', { name: 'Pin' }).click()
  await ana.getByRole('button', { name: 'Pinned messages: 1' }).click()
  await ana.getByRole('button', { name: 'Show' }).click()
  const thread = ana.getByRole('complementary', { name: 'Thread' })
  await expectVisible(message(thread, 'And the date?'))
})

test('replies to an older message are read while the channel is open', async () => {
  const { channelId, ben, unreadCount } = await createChannel('Replies')
  const page = await playground.openInTest('?user=ana')
  await rowOf(page, 'Replies').click()
  await expectVisible(composer(page, 'Replies'))
  const first = await ben.messages.send({ channelId, text: 'The first of two' })
  await ben.messages.send({ channelId, text: 'The second of two' })
  await expectVisible(message(page, 'The second of two'))
  for (const text of ['One reply', 'Another reply']) {
    await expect.poll(unreadCount, patient).toBe(0)
    await ben.messages.send({ channelId, text, parentId: first.id })
  }
  await expect.poll(unreadCount, patient).toBe(0)
})

test('messages that a drawer covers stay unread until it is closed', async () => {
  const { channelId, ben, unreadCount } = await createChannel('Covered')
  await ben.messages.send({ channelId, text: 'In the open' })
  const page = await playground.openInTest('?user=ana', { viewport: { width: 900, height: 760 } })
  await rowOf(page, 'Covered').click()
  await expect.poll(unreadCount, patient).toBe(0)
  await page.getByRole('button', { name: 'Channel details' }).click()
  const toLatest = page.locator('.pill')
  await toLatest.waitFor({ state: 'attached' })
  for (const text of ['Under cover', 'Under cover too']) {
    await ben.messages.send({ channelId, text })
    await expectVisible(rowOf(page, `${text}$`))
  }
  expect(await unreadCount()).toBe(2)
  await screenshot(page, 'covered')
  await page.getByRole('button', { name: 'Close details' }).click()
  await expect.poll(unreadCount, patient).toBe(0)
  await expectVisible(message(page, 'Under cover too'))
  await expectHidden(toLatest)
})

/** Ana's page with a new channel of many messages, the first of which is pinned. */
async function openArchive(name: string) {
  const { channelId, ana } = await createChannel(name)
  const { id: messageId } = await ana.messages.send({ channelId, text: 'Line 0.' })
  for (let number = 1; number < 130; number++)
    await ana.messages.send({ channelId, text: `Line ${number}.` })
  await ana.pins.pin({ channelId, messageId })
  const page = await playground.openInTest('?user=ana')
  await rowOf(page, name).click()
  return page
}

test('a message that is sent from among older ones is shown with the newest', async () => {
  const page = await openArchive('Archive')
  await page.getByRole('button', { name: 'Pinned messages: 1' }).click()
  await page.getByRole('button', { name: 'Show' }).click()
  await expectVisible(message(page, 'Line 0.'))
  const toLatest = page.getByRole('button', { name: 'Latest' })
  await expectVisible(toLatest)
  await say(page, 'And now', 'Message Archive')
  await expectVisible(message(page, 'Line 129.'))
  await expectHidden(toLatest)
  await expect.poll(() => page.getByRole('article').last().innerText()).toContain('And now')
  await screenshot(page, 'sent-from-older')
})

test('a message that failed to load is not scrolled to when it is loaded later', async () => {
  const page = await openArchive('Attic')
  await expectVisible(message(page, 'Line 129.'))
  await page.route(/messages\?.*after=/, (route) => route.abort('connectionrefused'))
  await page.getByRole('button', { name: 'Pinned messages: 1' }).click()
  await page.getByRole('button', { name: 'Show' }).click()
  await expectVisible(page.locator('.toast').getByText('That needs the network'))
  await page.getByRole('button', { name: 'Close pinned messages' }).click()
  const first = message(page.getByRole('log'), 'Line 0.')
  const toTop = () => page.getByRole('log').evaluate((box) => box.scrollTo(0, 0))
  await until(async () => [await toTop(), await first.count()][1])
  expect(await first.and(page.locator(':focus')).count()).toBe(0)
  playground.problems.length = 0
})

test('an invite link gives access to the channels of a team', async () => {
  const [ana, ben] = await openBoth()
  await ana.getByRole('button', { name: 'New channel' }).click()
  const createDialog = ana.getByRole('dialog', { name: 'New channel for Ana' })
  await createDialog.getByRole('radio', { name: /Team/ }).check()
  await createDialog.getByRole('textbox', { name: 'Name' }).fill('Cooks')
  await createDialog.getByRole('button', { name: 'Create channel' }).click()
  await ana.getByRole('button', { name: 'Invite people' }).click()
  await ana.getByRole('button', { name: /Create an invite link/ }).click()
  const link = await ana.getByRole('textbox', { name: /Invite link/ }).inputValue()
  await ana.getByRole('button', { name: 'Done', exact: true }).click()
  await ben.getByRole('button', { name: 'Browse channels' }).click()
  const browseDialog = ben.getByRole('dialog', { name: 'Browse channels' })
  await browseDialog.getByRole('textbox').fill(link)
  await browseDialog.getByRole('button', { name: 'Accept' }).click()
  await expectVisible(browseDialog.getByText('Cooks'))
  await screenshot(ben, 'dialog-browse')
  await browseDialog.getByRole('button', { name: 'Join Cooks' }).click()
  await expectVisible(composer(ben, 'Cooks'))
})

const openBoth = () =>
  Promise.all([playground.openInTest('?user=ana'), playground.openInTest('?user=ben')] as const)
