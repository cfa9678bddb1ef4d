import type { ChatMessage } from '@parley/client'
import { agoOf, dayOf } from '@parley/client/internal/playground/format'
import { useUnseenCount } from '@parley/client/internal/playground/use-unseen-count'
import { toPayload, withoutTokens } from '@parley/client/internal/playground/wire-redact'
import { act, createElement } from 'react'
import { createRoot } from 'react-dom/client'
import { expect, onTestFinished, test } from 'vitest'
import { useDom } from './support/dom.ts'

const window = useDom({ acts: true })

test('the day before is called yesterday, and relative times are in whole units', () => {
  const noon = '2026-01-03T12:00'
  const days = ['2026-01-03T00:00', '2026-01-02T23:59', '2026-01-01T12:00', '2026-01-04T00:00']
  const named = days.map((iso) => /^[TY]\w+day$/.exec(dayOf(iso, new Date(noon)))?.[0])
  expect(named).toEqual(['Today', 'Yesterday', undefined, undefined])
  const ago = (minutes: number) => agoOf(noon, Date.parse(noon) + minutes * 60_000)
  expect([1, 2, 59, 60, 24 * 60 - 1, 24 * 60].map(ago)).toEqual([
    ...['Active a moment ago', 'Active 2 min ago', 'Active 59 min ago'],
    ...['Active 1 h ago', 'Active 23 h ago', 'Active 1 d ago'],
  ])
})

test('the wire view hides credentials in paths and payloads', () => {
  const path = 'POST /api/invites/abc123/accept'
  expect(withoutTokens(path)).toBe('POST /api/invites/(hidden)/accept')
  const secrets = ['token', 'wsToken', 'apiKey', 'x-api-key', 'Authorization', 'password', 'secret']
  for (const name of [...secrets, 'inviteUrl']) {
    const payload = { [name]: 'https://chat.example/abc123', name: 'Team' }
    expect(toPayload(JSON.stringify(payload))).toEqual({ [name]: '(hidden)', name: 'Team' })
  }
})

test('messages of others are counted since the end of the list was last visible', async () => {
  const container = window.document.createElement('div')
  const root = createRoot(container as never) // an element of another DOM
  onTestFinished(() => act(() => root.unmount()))
  const authors = ['ana', 'ben', 'me', 'ben']
  const messages = authors.map((userId, seq) => ({ seq, userId, status: 'sent' }))
  const Count = ({ shown, isEndVisible }: { shown: number; isEndVisible: boolean }) => {
    const items = messages.slice(0, shown) as ChatMessage[] // as far as it is looked at
    return `${useUnseenCount(items, { isEndVisible, me: 'me' })}`
  }
  const count = async (shown: number, isEndVisible: boolean) => {
    await act(() => root.render(createElement(Count, { shown, isEndVisible })))
    return container.textContent
  }
  expect(await count(1, true)).toBe('0')
  const below: (string | null)[] = []
  for (const shown of [1, 2, 3, 4]) below.push(await count(shown, false))
  expect(below).toEqual(['0', '1', '1', '2'])
  expect([await count(4, true), await count(4, false)]).toEqual(['0', '0'])
})
