import { ChatError, type OutboxOperation } from '@parley/client'
import type { FakeApi } from '@parley/client/testing'
import { act } from 'react'
import { beforeEach, expect, test } from 'vitest'
import { createPane } from './in-pane.ts'
import { field, named, usePage } from './page.ts'

const page = usePage()
beforeEach(() => sessionStorage.clear())

/** A noun of the API whose operations keep their calls, and answer with what is given. */
function recorded<Answers extends Record<string, unknown>>(noun: string, answers: Answers) {
  const calls: unknown[] = []
  const operations = Object.entries(answers).map(([name, answer]) => [
    name,
    async (input: unknown) => {
      calls.push([`${noun}.${name}`, input])
      if (answer instanceof Error) throw answer
      return answer
    },
  ])
  return { calls, operations: Object.fromEntries(operations) }
}
const user = (id: string, name: string) => ({ id, name, image: null })
const users = [user('me', 'Me'), user('ana', 'Ana Sousa'), user('ben', 'Ben Okafor')]
const listed = recorded('users', { list: { users, nextCursor: null } }).operations
const titleOf = (container: Element) =>
  container.querySelector('.conversation')?.getAttribute('aria-label')
const textsOf = (within: Element, selector: string) =>
  [...within.querySelectorAll(selector)].map(({ textContent }) => textContent)

/** The pane of a user, whose client answers these calls. */
async function showPane(api: Record<string, object>, more: Parameters<typeof createPane>[0] = {}) {
  const pane = await createPane({ ...more, api: { users: listed, ...api } as FakeApi }) // as used
  const { container } = await page.show(pane.element)
  return { ...pane, container, press: (name: string) => press(container, name) }
}
const press = (within: Element, name: string) => page.click(named(within, 'button', name))
const submitIn = (container: Element, selector: string) =>
  page.submit(container.querySelector(selector) as Element)

test('a channel is created of its kind, with those who were chosen', async () => {
  const { calls, operations } = recorded('channels', { create: { id: 'made' } })
  const workspaces = recorded('workspaces', { list: { workspaces: [{ id: 'w', role: 'member' }] } })
  Object.assign(workspaces.operations, {
    create: async (input: unknown) => {
      calls.push(['workspaces.create', input])
      return { id: 'new-workspace' }
    },
  })
  const api = { channels: operations, workspaces: workspaces.operations }
  const { container, press } = await showPane(api, { channels: [{ id: 'made' }] })
  const create = () => named(container, 'button[type=submit]', 'Create channel')
  const pick = (label: string) => page.click(field(container, label))
  await press('New channel')
  expect((create() as HTMLButtonElement).disabled).toBe(true)
  await page.type(field(container, 'Name'), ' Lunch ')
  for (const name of ['ASAna', 'BOBen', 'ASAna']) await pick(name)
  await submitIn(container, 'dialog form')
  expect(titleOf(container)).toBe('made, as me')
  await press('New channel')
  await page.type(field(container, 'Name'), 'Staff')
  await pick('Team')
  await submitIn(container, 'dialog form')
  await press('New channel')
  await pick('BOBen')
  await pick('Direct')
  const open = () => named(container, 'button[type=submit]', 'Open') as HTMLButtonElement
  expect(open().disabled).toBe(true)
  await pick('ASAna')
  await pick('BOBen')
  await submitIn(container, 'dialog form')
  expect(calls).toEqual([
    ['channels.create', { type: 'group', name: 'Lunch', memberIds: ['ben'] }],
    ['workspaces.create', { name: 'Playground', type: 'company' }],
    [
      'channels.create',
      { type: 'team', name: 'Staff', memberIds: [], workspaceId: 'new-workspace' },
    ],
    ['channels.create', { type: 'messaging', memberIds: ['ben'] }],
  ])
})

test('a channel that was refused can be created again', async () => {
  const refused = new ChatError('no', { code: 'RATE_LIMITED', status: 429 })
  const { calls, operations } = recorded('channels', { create: refused })
  const { container, press } = await showPane({ channels: operations })
  await press('New channel')
  await page.type(field(container, 'Name'), 'Lunch')
  for (let time = 0; time < 2; time++) await submitIn(container, 'dialog form')
  expect(container.querySelector('dialog .refusal')).not.toBeNull()
  const create = named(container, 'button[type=submit]', 'Create channel') as HTMLButtonElement
  expect([calls.length, create.disabled]).toEqual([2, false])
})

test('one joins channels that one is not in, and accepts the link of an invite', async () => {
  const channel = (id: string, role: string | null) => ({
    ...{ id, name: id, role, type: 'public', memberCount: 1, members: [] },
  })
  const channels = [channel('in', 'member'), channel('out', null)]
  const { calls, operations } = recorded('channels', { list: { channels, nextCursor: null } })
  const members = recorded('members', { join: {} })
  const invites = recorded('invites', { accept: {} })
  const api = { channels: operations, members: members.operations, invites: invites.operations }
  const { container, press } = await showPane(api, { channels: [{ id: 'out' }] })
  await press('Browse channels')
  expect(textsOf(container, '.invitees .person span > small')).toEqual(['1 member'])
  await page.type(field(container, 'Have an invite link'), ' https://x.test/invites/token-1 ')
  await submitIn(container, 'form.accept')
  expect(invites.calls).toEqual([['invites.accept', { token: 'token-1' }]])
  expect(calls).toEqual(Array(2).fill(['channels.list', { discover: true, limit: 100 }]))
  await press('Join out')
  expect(members.calls).toEqual([['members.join', { channelId: 'out' }]])
  expect(titleOf(container)).toBe('out, as me')
})

const detailed = { channels: [{ id: 'd', name: 'Team', role: 'owner' as const, unreadCount: 3 }] }
const openDetails = async (container: Element, name = 'Team') => {
  const rows = [...container.querySelectorAll('button.channel')]
  await page.click(rows.find(({ textContent }) => textContent?.includes(name)) as Element)
  await press(container, 'Channel details')
}

test('owners change roles and remove others, and members can do neither', async () => {
  const { calls, operations } = recorded('members', { update: {}, remove: {}, leave: {} })
  const { container, chat } = await showPane({ members: operations }, detailed)
  const members = ['me', 'ana'].map((id) => ({
    ...{ userId: id, role: 'member' as const, custom: {}, joinedAt: '2026-01-01T00:00:00.000Z' },
    user: user(id, id),
  }))
  chat.channel('d').show({ members })
  await openDetails(container)
  const list = () => container.querySelector('.member-list') as Element
  expect(list().querySelectorAll('select, .icon-button')).toHaveLength(2)
  await page.type(named(list(), 'select', 'Role of ana'), 'moderator')
  await press(container, 'Remove ana')
  expect(calls).toEqual([
    ['members.update', { channelId: 'd', userId: 'ana', role: 'moderator' }],
    ['members.remove', { channelId: 'd', userId: 'ana' }],
  ])
  await openDetails(container, 'Kitchen')
  expect(list().querySelectorAll('select, .icon-button')).toHaveLength(0)
  expect(textsOf(container, '.details button')).not.toContain('Edit')
  expect(textsOf(container, '.ending > button')).toEqual(['Leave'])
})

test('details are saved without space around them, a refused setting is taken back', async () => {
  const refused = new ChatError('no', { code: 'FORBIDDEN', status: 403 })
  const channels = recorded('channels', { update: {}, updateSettings: refused, delete: {} })
  const { container, press } = await showPane({ channels: channels.operations }, detailed)
  await openDetails(container)
  await press('Edit')
  await page.type(field(container, 'Name'), ' Crew ')
  await page.type(field(container, 'What it is about'), ' ')
  await submitIn(container, 'form.details-form')
  const starred = field(container, 'Starred')
  await page.click(starred)
  await press('Delete channel')
  await page.click(named(container, 'dialog button', 'Delete channel'))
  expect([starred.checked, container.querySelector('.toast') !== null]).toEqual([false, true])
  expect(channels.calls).toEqual([
    ['channels.update', { channelId: 'd', name: 'Crew', description: null }],
    ['channels.updateSettings', { channelId: 'd', starred: true }],
    ['channels.delete', { channelId: 'd' }],
  ])
})

test('a pane says what waits for the network and what was refused', async () => {
  const { container, chat, session } = await showPane({}, detailed)
  expect(container.querySelector('.pane-header .badge')?.textContent).toBe('3 unread')
  expect(container.querySelector('.outbox')).toBeNull()
  const operation = (clientId: string, more: object) =>
    ({ clientId, channelId: 'd', ...more }) as OutboxOperation // as far as it is shown
  const setOutbox = (...operations: OutboxOperation[]) =>
    act(async () => (session.outbox as unknown as { set: (next: unknown) => void }).set(operations))
  const shown = () => [
    container.querySelector('.outbox-note')?.textContent,
    ...textsOf(container, '.outbox li'),
  ]
  await act(async () => chat.setOnline(false))
  expect(container.querySelector('.connection')?.textContent).toContain('Offline')
  expect(shown()).toEqual([undefined])
  await setOutbox(operation('a', { text: '*hi*' }), operation('b', { type: 'read' }))
  expect(shown()).toEqual(['Sent in order once the network is back.', 'Team hi'])
  await act(async () => chat.setOnline(true))
  expect(shown()).toEqual([undefined])
  const failure = { code: 'FORBIDDEN', message: 'no' }
  await setOutbox(operation('a', { text: 'hi', failure }))
  expect(shown()).toEqual(['Some of it was refused.', 'Team hinot sentDiscard'])
})

test('a file is attached by its address, as what its ending says', async () => {
  const { container, press, room } = await showPane({})
  const attach = async (url: string, name = '') => {
    await press('Attach a file')
    await page.type(field(container, 'Address'), url)
    await page.type(field(container, 'Name'), name)
    const button = named(container, 'dialog button', 'Attach') as HTMLButtonElement
    if (button.disabled) return press('Cancel')
    await submitIn(container, 'dialog form')
  }
  await attach('ftp://x.test/a')
  await attach('https://x.test/a.PNG?size=1', ' Cat ')
  await attach('https://x.test/b.mp3')
  await attach('https://x.test/c')
  await press('Remove c')
  const composer = named(container, 'textarea', 'Message Kitchen')
  await page.press(composer, 'Enter')
  expect(room.messages().getSnapshot().items[0]).toMatchObject({
    text: '',
    attachments: [
      { type: 'image', url: 'https://x.test/a.PNG?size=1', name: 'Cat' },
      { type: 'audio', url: 'https://x.test/b.mp3' },
    ],
  })
})
