import type { Channel, ChatMessage, Message } from '@parley/client'
import { ChatProvider } from '@parley/client/react'
import { act, createElement } from 'react'
import { beforeEach, expect, test } from 'vitest'
import { createPane } from './in-pane.ts'
import { named, usePage } from './page.ts'

const page = usePage()
beforeEach(() => sessionStorage.clear())

const textsOf = (within: Element, selector: string) =>
  [...within.querySelectorAll(selector)].map(({ textContent }) => textContent)

test('a text is shown with its styles, and what is not one is left as it is', async () => {
  const { parseMarkdown, plainText } = await import('@parley/client/internal/playground/markdown')
  const { MessageText } = await import('@parley/client/internal/playground/message-text.tsx')
  const { OpenChannelContext } = await import('@parley/client/internal/playground/open-channel')
  const { NavigationContext } = await import('@parley/client/internal/playground/navigation')
  const { room } = await createPane()
  const members = room.members.getSnapshot().items
  const within = { members, me: 'ana' } as never // as far as it is looked at
  const profiles: string[] = []
  const navigation = { openChannel: () => {}, openProfile: (id: string) => profiles.push(id) }
  const htmlOf = async (text: string) => {
    const shown = createElement(
      OpenChannelContext,
      { value: within },
      createElement(MessageText, { text }),
    )
    const { container } = await page.show(
      createElement(NavigationContext, { value: navigation }, shown),
    )
    for (const button of container.querySelectorAll('button')) await page.click(button)
    return container.innerHTML.replaceAll(/ (class|title|tabindex|target|rel)="[^"]*"/g, '')
  }
  const shown = {
    '*a* **b** _c_ ~d~ ~~e~~ `*f*`':
      '<strong>a</strong> <strong>b</strong> <em>c</em> <s>d</s> <s>e</s> <code>*f*</code>',
    'snake_case_name 2 * 3 * 4 *open': 'snake_case_name 2 * 3 * 4 *open',
    'a*b* *c*d': 'a*b* *c*d',
    '*a _b* c_': '<strong>a _b</strong> c_',
    'see https://a.example/b_(c). (https://d.example)':
      'see <a href="https://a.example/b_(c)">a.example/b_(c)</a>. ' +
      '(<a href="https://d.example">d.example</a>)',
    '@ben and @nobody at a@ben': '<button type="button">@Ben</button> and @nobody at a@ben',
    '> a\n> b\nc': '<blockquote>a\nb</blockquote>c',
    '- a\n* b\n3. c\n4) d': '<ul><li>a</li><li>b</li></ul><ol start="3"><li>c</li><li>d</li></ol>',
    'a\n```\n*b*\n```\nc': 'a<pre>*b*</pre>c',
    '👍🏽 👨‍👩‍👧': '<span>👍🏽 👨‍👩‍👧</span>',
    '👍👍👍👍': '👍👍👍👍',
  }
  const found: Record<string, string> = {}
  for (const text of Object.keys(shown)) found[text] = await htmlOf(text)
  expect(found).toEqual(shown)
  expect(profiles).toEqual(['ben'])
  const nameOf = (id: string) => id.toUpperCase()
  expect(plainText('> *hi*\n- @ana\n- b\n```\nc\n```', nameOf)).toBe('hi @ANA b c')
  expect(parseMarkdown('')).toEqual([])
})

test('days, new messages and authors are named where they begin', async () => {
  const { MessageRows } = await import('@parley/client/internal/playground/message-rows.tsx')
  const { OpenChannelContext } = await import('@parley/client/internal/playground/open-channel')
  const { NavigationContext } = await import('@parley/client/internal/playground/navigation')
  const { Toasts } = await import('@parley/client/internal/playground/toasts.tsx')
  const { chat, room } = await createPane()
  const { id } = room.receive({ from: 'ana', text: '' })
  const [like] = room.messages().getSnapshot().items
  const at = (userId: string, createdAt: string, seq: number): ChatMessage => ({
    ...(like as ChatMessage),
    ...{ id: `${id}-${seq}`, seq, userId, user: { id: userId, name: userId, image: null } },
    ...{ createdAt, text: String(seq), clientId: null },
  })
  const items = [
    at('ana', '2026-01-01T10:00:00', 1),
    at('ana', '2026-01-01T10:04:59', 2),
    at('ana', '2026-01-01T10:09:59', 3),
    at('me', '2026-01-01T10:10:00', 4),
    at('ben', '2026-01-02T10:00:00', 5),
    at('ben', '2026-01-02T10:00:01', 6),
    at('me', '2026-01-02T10:00:02', 7),
  ]
  const rows = async (unreadSince: number | undefined, isThread: boolean) => {
    const open = { channel: { id: 'c' } as Channel, me: 'me', members: [], isThread }
    const shown = createElement(
      OpenChannelContext,
      { value: open as never }, // as far as it is looked at
      createElement(MessageRows, {
        ...{ items, unreadSince, active: {}, target: undefined, onActive: () => {} },
      }),
    )
    const navigation = { openChannel: () => {}, openProfile: () => {} }
    const { container } = await page.show(
      createElement(
        ChatProvider,
        { client: chat },
        createElement(Toasts, null, createElement(NavigationContext, { value: navigation }, shown)),
      ),
    )
    return [...container.querySelectorAll('.divider, .author, .message-text, .receipt')].map(
      (part) => (part.matches('.divider') ? `— ${part.textContent}` : part.textContent),
    )
  }
  const { format } = new Intl.DateTimeFormat(undefined, {
    ...({ weekday: 'long', day: 'numeric', month: 'long' } as const),
  })
  const [first, second] = ['2026-01-01T12:00', '2026-01-02T12:00'].map((day) =>
    format(new Date(day)),
  )
  expect(await rows(undefined, false)).toEqual([
    ...[`— ${first}`, 'ana', '1', '2', 'ana', '3', 'me', '4'],
    ...[`— ${second}`, 'ben', '5', '6', 'me', '7', 'Sent'],
  ])
  const since = await rows(3, false)
  expect(since.filter((part) => part?.startsWith('—'))).toEqual([
    ...[`— ${first}`, `— ${second} · New`],
  ])
  expect((await rows(5, false)).slice(-6)).toEqual(['— New', 'ben', '6', 'me', '7', 'Sent'])
  expect(await rows(7, true)).toEqual([
    ...['ana', '1', '2', 'ana', '3', 'me', '4', 'ben', '5', '6', 'me', '7'],
  ])
})

test('the list of channels shows the last message, its author and the unread count', async () => {
  const last = (more: Partial<Message>) =>
    ({
      ...{ id: 'm', type: 'regular', userId: 'ana', text: '', attachments: [], deletedAt: null },
      ...{ user: { id: 'ana', name: 'Ana Sousa' }, createdAt: '2026-01-01T10:00:00', seq: 1 },
      ...more,
    }) as Message // as far as it is looked at
  const file = { type: 'file', url: 'https://example.com/a' } as const
  const channels = [
    { id: 'text', lastMessage: last({ text: '*soup* for @ben' }), unreadCount: 1 },
    { id: 'own', lastMessage: last({ userId: 'me', text: 'yes' }), unreadCount: 100 },
    { id: 'files', lastMessage: last({ attachments: [file, file] }), muted: true },
    { id: 'gone', lastMessage: last({ text: '', deletedAt: '2026-01-01T10:01:00' }) },
    { id: 'system', lastMessage: last({ type: 'system', text: 'joined' }), starred: true },
  ]
  const { element } = await createPane({ channels })
  const { container } = await page.show(element)
  expect(textsOf(container, '.channel-name').sort()).toEqual([
    ...['Kitchen', 'files , muted', 'gone', 'own', 'system , starred', 'text'],
  ])
  expect(textsOf(container, '.channel-last').sort()).toEqual([
    ...['Ana: 2 attachments', 'Ana: a deleted message', 'Ana: soup for @ben'],
    ...['No messages yet', 'You: yes', 'joined'],
  ])
  expect(textsOf(container, '.channel .badge').sort()).toEqual([
    ...['1, 1 unread message', '99+, 100 unread messages'],
  ])
})

test('one jumps to channels, unread first, and people without a direct message', async () => {
  const user = (id: string, name: string) => ({ id, name, image: null }) as never // as it is used
  const users = [user('me', 'Me'), user('ana', 'Ana Sousa'), user('ben', 'Ben Okafor')]
  const members = ['ana'].map((userId) => ({ userId, user: { name: userId } })) as never
  const { element, chat } = await createPane({
    api: { users: { list: async () => ({ users, nextCursor: null }) } },
    channels: [
      { id: 'soup', name: 'Soup of the day' },
      { id: 'dm', type: 'messaging', name: 'Ana Sousa', members },
      { id: 'late', name: 'Late news', unreadCount: 2 },
    ],
  })
  const { container } = await page.show(element)
  await page.click(container.querySelector('.search-button') as Element)
  const query = named(container, 'input', 'Search channels and people')
  const found = () => textsOf(container, '.found-entry strong')
  const sorted = found()
  expect([sorted[0], sorted.at(-1)]).toEqual(['Late news', 'Ben Okafor'])
  expect([...sorted].sort()).toEqual([
    ...['Ana Sousa', 'Ben Okafor', 'Kitchen', 'Late news', 'Soup of the day'],
  ])
  await page.type(query, 'day so')
  expect(found()).toEqual(['Soup of the day'])
  await page.type(query, 'oup')
  expect(found()).toEqual([])
  await page.type(query, 'ben')
  await page.press(query, 'Enter')
  expect(container.querySelector('.conversation')?.getAttribute('aria-label')).toBe('ben, as me')
  expect(
    chat
      .channels()
      .getSnapshot()
      .items.map(({ id }) => id),
  ).toContain('dm-ben')
})

test('arrow keys choose from what a search has found, and stay within that', async () => {
  const { SearchList } = await import('@parley/client/internal/playground/search-list.tsx')
  const chosen: string[] = []
  const { container } = await page.show(
    createElement(SearchList<string>, {
      ...{ label: 'Search', placeholder: '', query: '', onQuery: () => {} },
      ...{ found: ['a', 'b', 'c'], keyOf: String, children: String },
      onChoose: (entry) => chosen.push(entry),
    }),
  )
  const input = named(container, 'input', 'Search')
  const keys = ['ArrowUp', 'Enter', 'ArrowDown', 'Enter', 'ArrowDown', 'ArrowDown', 'Enter']
  for (const key of keys) await page.press(input, key)
  expect(chosen).toEqual(['a', 'b', 'c'])
  expect(textsOf(container, '[aria-selected=true]')).toEqual(['c'])
  await page.press(input, 'Enter', { isComposing: true })
  expect(chosen).toHaveLength(3)
})

test('a click on an own reaction removes it', async () => {
  const { element, room } = await createPane()
  const { id } = room.receive({ from: 'ana', text: 'soup' })
  await room.react(id, '🎉')
  const { container } = await page.show(element)
  const reactions = () => textsOf(container, '.reactions button[aria-pressed=true]')
  expect(reactions()).toEqual(['🎉 1'])
  await page.click(named(container, '.reactions button', '🎉, 1'))
  expect(reactions()).toEqual([])
  expect(container.querySelector('.reactions')).toBeNull()
})

test('who types is named, and the number of replies leads to the thread', async () => {
  const { element, room } = await createPane()
  const { id } = room.receive({ from: 'ana', text: 'soup' })
  room.receive({ from: 'ben', text: 'yes', parentId: id })
  const { container } = await page.show(element)
  const typing = [{ id: 'ana', name: 'Ana Sousa', image: null }]
  await act(async () => room.show({ typing }))
  expect(container.querySelector('.typing')?.textContent).toBe('Ana is typing…')
  await act(async () => room.show({ typing: [...typing, { id: 'ben', name: 'Ben', image: null }] }))
  expect(container.querySelector('.typing')?.textContent).toBe('Ana and Ben are typing…')
  await page.click(named(container, 'button.thread-link', '1 reply'))
  const reply = named(container, 'textarea', 'Reply') as HTMLTextAreaElement
  await page.write(reply, 'and bread')
  await page.press(reply, 'Enter')
  const thread = room.thread(id).getSnapshot()
  expect(thread.items.map(({ text }) => text)).toEqual(['yes', 'and bread'])
})
