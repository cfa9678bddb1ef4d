import { act, createElement } from 'react'
import { beforeEach, expect, test, vi } from 'vitest'
import { inConsole } from './in-console.ts'
import { answerCalls, named, usePage } from './page.ts'

const page = usePage()
const appId = '019c9b1d-11aa-7b2c-8c3d-4e5f60718293'
const channelId = '019c9b1e-7a52-7cc1-8f0e-3d2f5b6a7c81'

/** Goes to an address of the console, as a link does. */
const goTo = (hash: string) =>
  act(async () => {
    const { replaceAddress } = await import('@parley/client/internal/console/route')
    replaceAddress(hash)
  })
beforeEach(() => goTo('#/'))

const app = { id: appId, name: 'Shop', enabled: true, keys: [{ id: channelId, name: 'Billing' }] }
const entry = {
  ...{ id: '3', createdAt: '2026-01-01T10:00:00.000Z', appId, requestId: 'r-1' },
  actor: { type: 'key', userId: 'ana', keyId: channelId },
  operation: 'members.remove',
  target: { channelId: null, userIds: ['a', 'b', 'c', 'd', 'e', 'f'] },
}

async function showAudit() {
  const { AuditOfApp } = await import('@parley/client/internal/console/audit.tsx')
  const ofApp = { app: app as never } // as much of it as is shown
  return (await page.show(await inConsole(createElement(AuditOfApp, ofApp)))).container
}

test('the audit log asks for what its address filters by', async () => {
  const calls = answerCalls(() => ({ entries: [entry], nextCursor: null }))
  await goTo(
    `#/apps/${appId}/audit?actor=key&user=ana&operation=a.b&target=t&before=2026-01-02T03:04`,
  )
  const container = await showAudit()
  await vi.waitUntil(() => container.querySelector('td'))
  const asked = new URL(calls[0]?.path ?? '', location.href)
  expect(asked.pathname).toBe(`/console/admin/apps/${appId}/audit`)
  expect(Object.fromEntries(asked.searchParams)).toEqual({
    ...{ actor: 'key', userId: 'ana', operation: 'a.b', targetId: 't' },
    createdBefore: new Date('2026-01-02T03:04').toISOString(),
  })
})

test('no call asks for entries of an id that no user can have, or of no actor', async () => {
  const calls = answerCalls(() => ({ entries: [], nextCursor: null }))
  await goTo(`#/apps/${appId}/audit?user=a%20b`)
  const container = await showAudit()
  await vi.waitUntil(() => container.textContent?.includes('Nothing has been noted.'))
  expect(calls).toEqual([])
  for (const [index, actor] of ['nobody', 'toString'].entries()) {
    await goTo(`#/apps/${appId}/audit?actor=${actor}`)
    await vi.waitUntil(() => calls.length > index)
    expect(calls[index]?.path).toBe(`/console/admin/apps/${appId}/audit`)
  }
})

test('an entry names its key and user, and hides no more than the end of a long list', async () => {
  const reading = { ...entry, id: '2', operation: 'inspect.messages', target: { from: null } }
  answerCalls(() => ({ entries: [entry, reading], nextCursor: null }))
  const container = await showAudit()
  await vi.waitUntil(() => container.querySelector('td'))
  const [removal, read] = [...container.querySelectorAll('tbody tr')].map((row) => row.textContent)
  expect(removal).toContain('API key “Billing” as ana')
  expect(removal).toContain('channelIdnull')
  expect(removal).toContain('a, b, c, d, e and 1 morefrequestIdr-1')
  expect(read).not.toContain('null')
})

test('what is typed is searched for after a pause, and a link replaces it', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  try {
    const { SearchBox } = await import('@parley/client/internal/console/search-box.tsx')
    const { useRoute } = await import('@parley/client/internal/console/route')
    const Search = () => {
      const value = useRoute().query.get('q') ?? ''
      const addressOf = (text: string) => `#/users?q=${encodeURIComponent(text.trim())}`
      return createElement(SearchBox, { label: 'Search', value, addressOf })
    }
    const { container } = await page.show(createElement(Search))
    const box = container.querySelector('input') as HTMLInputElement
    const pass = (ms: number) => act(async () => void vi.advanceTimersByTime(ms))
    await page.type(box, 'an')
    await pass(200)
    await page.type(box, 'ana ')
    await pass(200)
    expect(location.hash).toBe('#/')
    await pass(50)
    expect([location.hash, box.value]).toEqual(['#/users?q=ana', 'ana '])
    await goTo('#/users?q=ben')
    expect(box.value).toBe('ben')
    await pass(1_000)
    expect(location.hash).toBe('#/users?q=ben')
  } finally {
    vi.useRealTimers()
  }
})

test('a user or channel whose id was typed is found once, and before those by name', async () => {
  const { Users } = await import('@parley/client/internal/console/users.tsx')
  const { Channels } = await import('@parley/client/internal/console/channels.tsx')
  const user = (id: string) => ({ id, name: `Name of ${id}`, online: false, lastActiveAt: null })
  const channel = (id: string) => ({ id, name: id.slice(0, 3), lastSeq: 0, memberCount: 1 })
  const calls = answerCalls(({ path }) => {
    if (path.includes('userId=ana')) return { users: [user('ana')], nextCursor: null }
    if (path.includes('userId=')) return { users: [], channels: [], nextCursor: null }
    if (path.includes('/users')) return { users: [user('ben'), user('ana')], nextCursor: null }
    const isById = path.includes('channelId=')
    return { channels: isById ? [channel(channelId)] : [channel('zzz')], nextCursor: null }
  })
  await goTo(`#/apps/${appId}/users?q=ana`)
  const { container, render } = await page.show(await inConsole(createElement(Users, { appId })))
  const rows = () => [...container.querySelectorAll('tbody tr')].map((row) => row.textContent)
  await vi.waitUntil(() => rows().length > 0)
  expect(rows().map((row) => row?.includes('Name of ana'))).toEqual([true, false])
  await goTo(`#/apps/${appId}/channels?q=${channelId}`)
  await render(await inConsole(createElement(Channels, { appId })))
  await vi.waitUntil(() => container.textContent?.includes('zzz'))
  expect(rows()[0]).toMatch(/^019.*–/)
  calls.length = 0
  await goTo(`#/apps/${appId}/channels?userId=ana`)
  await vi.waitUntil(() => calls.length > 0)
  expect(calls.map(({ path }) => path)).toEqual([
    `/console/admin/apps/${appId}/channels?userId=ana`,
  ])
  expect(named(container, 'a', 'Show all').getAttribute('href')).toBe(`#/apps/${appId}/channels`)
})

test('a message in the console says how it differs, and has no text once deleted', async () => {
  const { Messages } = await import('@parley/client/internal/console/messages.tsx')
  const message = {
    ...{ id: 'm', seq: 2, text: 'Hello', type: 'regular', parentId: null, pinned: false },
    ...{ editedAt: null, deletedAt: null, createdAt: entry.createdAt },
    ...{ user: { id: 'ana', name: 'Ana' }, attachments: [{ url: 'https://x.test/a' }] },
  }
  const marked = { ...message, id: 'n', parentId: 'm', pinned: true, editedAt: entry.createdAt }
  const gone = { ...message, id: 'o', silent: true, deletedAt: entry.createdAt }
  const calls = answerCalls(({ path }) =>
    path.includes('/messages')
      ? { messages: [message, marked, gone], nextCursor: null }
      : {
          channels: [
            { id: channelId, name: null, directUserIds: ['ana', 'ben'], type: 'messaging' },
          ],
        },
  )
  await goTo(`#/apps/${appId}/channels/${channelId}?q=hel&author=ana`)
  const element = createElement(Messages, { appId, channelId })
  const { container } = await page.show(await inConsole(element))
  await vi.waitUntil(() => container.querySelectorAll('.messages li').length > 0)
  await vi.waitUntil(() => container.querySelector('h3'))
  const rows = [...container.querySelectorAll('.messages li')]
  const badges = (row: Element) => [...row.querySelectorAll('.badge')].map((one) => one.textContent)
  expect(rows.map(badges)).toEqual([[], ['Reply', 'Pinned', 'Edited'], ['Silent']])
  expect(rows.map((row) => row.textContent?.includes('Hello'))).toEqual([true, true, false])
  expect(rows[2]?.textContent).not.toContain('https://x.test/a')
  expect(container.querySelector('h3')?.textContent).toBe('ana and ben')
  expect(calls.map(({ path }) => path)).toContain(
    `/console/admin/apps/${appId}/channels/${channelId}/messages?q=hel&userId=ana`,
  )
})
