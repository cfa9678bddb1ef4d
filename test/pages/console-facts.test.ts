import { ChatError } from '@parley/client'
import { createElement, type ReactNode } from 'react'
import { expect, test, vi } from 'vitest'
import { inConsole } from './in-console.ts'
import { answerCalls, field, named, refusal, usePage } from './page.ts'

const page = usePage()
const appId = '019c9b1d-11aa-7b2c-8c3d-4e5f60718293'
const createdAt = '2026-01-01T10:00:00.000Z'

const show = async (element: ReactNode) => (await page.show(await inConsole(element))).container
const cellsOf = (container: Element, column: number) =>
  [...container.querySelectorAll('tbody tr')].map(
    (row) => row.querySelectorAll('td')[column]?.textContent?.trim() ?? '',
  )

test('numbers, sizes and times of the console are in units that fit', async () => {
  const format = await import('@parley/client/internal/console/format')
  const now = Date.parse('2026-01-10T12:00:00Z')
  const ago = (seconds: number) => format.agoOf(new Date(now - seconds * 1_000).toISOString(), now)
  const said = new Intl.RelativeTimeFormat(undefined, { numeric: 'auto', style: 'short' })
  expect([59, 60, 3_599, 3_600, 86_399, 86_400, 2_592_000, 31_536_000, -120].map(ago)).toEqual([
    ...[said.format(-59, 'second'), said.format(-1, 'minute'), said.format(-59, 'minute')],
    ...[said.format(-1, 'hour'), said.format(-23, 'hour'), said.format(-1, 'day')],
    ...[said.format(-1, 'month'), said.format(-1, 'year'), said.format(2, 'minute')],
  ])
  expect([0, 999, 1_000, 9_949, 10_000, 2_500_000, 5e15].map(format.bytesOf)).toEqual([
    ...['0 bytes', '999 bytes', '1.0 kB', '9.9 kB', '10 kB', '2.5 MB', '5000 TB'],
  ])
  const counts = [99_999, 100_000, 1_234_567].map(format.shortCountOf)
  expect(counts.map((count) => count.length > 5)).toEqual([true, false, false])
  const local = format.localOf('2026-07-01T10:20:30.456Z')
  expect(format.isoOf(local)).toBe('2026-07-01T10:20:30.000Z')
  expect(format.isoOf('')).toBeUndefined()
  const isPast = (iso: string) => format.isPast(iso, now)
  expect(['2026-01-10T12:00:00Z', '2026-01-10T12:00:01Z'].map(isPast)).toEqual([true, false])
})

test('errors are shown to operators with their code, and those of a proxy as such', async () => {
  const { describeError } = await import('@parley/client/internal/console/describe-error')
  const error = (message: string) => new ChatError(message, { code: 'INTERNAL_ERROR', status: 502 })
  expect(describeError(error('answered 502, but not by Parley'))).toEqual({
    text: 'The proxy answered 502: it found no server that works. Its own log says more.',
    code: 'INTERNAL_ERROR',
  })
  expect(describeError(error('broken'))).toEqual({ text: 'broken', code: 'INTERNAL_ERROR' })
  expect(describeError(new TypeError('oh'))).toEqual({ text: 'TypeError: oh', code: 'ERROR' })
})

test('ids that no user can have are not asked for', async () => {
  const { isId } = await import('@parley/client/internal/console/is-id')
  const good = ['a', '~', '!', 'a'.repeat(255), '...']
  const bad = ['', 'a b', 'a/b', 'ä', '.', '..', 'a'.repeat(256)]
  expect([good.map(isId), bad.map(isId)]).toEqual([...[good.map(() => true), bad.map(() => false)]])
})

test('a webhook says whether it is on, and since when or why not', async () => {
  const { Webhooks } = await import('@parley/client/internal/console/webhooks.tsx')
  const webhook = (id: string, more: object) => ({
    ...{ id, url: `https://x.test/${id}`, events: ['a', 'b'], createdAt },
    ...{ enabled: true, disabledReason: null, failingSince: null, ...more },
  })
  const failingSince = createdAt
  const calls = answerCalls(() => ({
    webhooks: [
      webhook('on', {}),
      webhook('failing', { failingSince }),
      webhook('off', { enabled: false }),
      webhook('gone', { enabled: false, disabledReason: 'gone', failingSince }),
      webhook('failed', { enabled: false, disabledReason: 'failing', failingSince }),
    ],
  }))
  const container = await show(createElement(Webhooks, { appId }))
  await vi.waitUntil(() => container.querySelector('td'))
  expect(calls.map(({ path }) => path)).toEqual([`/console/admin/apps/${appId}/webhooks`])
  expect(cellsOf(container, 2).map((state) => state.replace(/since.*/, 'since'))).toEqual([
    ...['On', 'On failing since', 'Off', 'Off it answered 410', 'Off failing since'],
  ])
  expect(container.querySelector('a')?.getAttribute('href')).toBe(`#/apps/${appId}/webhooks/on`)
})

test('a delivery says what it is about, and that it waits for an earlier one', async () => {
  const { Deliveries } = await import('@parley/client/internal/console/webhooks.tsx')
  const delivery = (id: string, more: object) => ({
    ...{ id, eventType: 'message.new', channelId: 'c', messageId: null, status: 'retrying' },
    ...{ attempts: 2, responseStatus: null, error: null, waitsForEarlier: false, createdAt },
    ...{ nextAttemptAt: null, headerId: 'wh_1_2', ...more },
  })
  answerCalls(({ path }) =>
    path.endsWith('/deliveries')
      ? {
          deliveries: [
            delivery('1', { responseStatus: 500, error: 'HTTP 500' }),
            delivery('2', { waitsForEarlier: true, nextAttemptAt: createdAt, channelId: null }),
          ],
          nextCursor: null,
        }
      : { webhooks: [{ id: 'w', url: 'https://x.test/w' }] },
  )
  const container = await show(createElement(Deliveries, { appId, webhookId: 'w' }))
  await vi.waitUntil(() => container.textContent?.includes('https://x.test/w'))
  expect([1, 4, 5, 6].map((column) => cellsOf(container, column))).toEqual([
    ...[
      ['c', '–'],
      ['500', '–'],
      ['HTTP 500', '–'],
    ],
    ['–', 'waits for an earlier one'],
  ])
})

test('a webhook that is not there leads back to the others', async () => {
  const { Deliveries } = await import('@parley/client/internal/console/webhooks.tsx')
  answerCalls(() => refusal(404, 'NOT_FOUND'))
  const container = await show(createElement(Deliveries, { appId, webhookId: 'w' }))
  await vi.waitUntil(() => container.querySelector('a'))
  const link = named(container, 'a', 'All webhooks')
  expect(link.getAttribute('href')).toBe(`#/apps/${appId}/webhooks`)
})

test('a given-up job names its messages and users, and how many more there are', async () => {
  const { Jobs } = await import('@parley/client/internal/console/jobs.tsx')
  const about = [
    { messageId: 'm1', channelId: 'c1', userId: null },
    { messageId: null, channelId: null, userId: 'ana' },
  ]
  const job = { task: 'push', reason: 'gone', attempts: 9, failedAt: createdAt }
  const jobs = [
    { ...job, id: '1', about, size: 5 },
    { ...job, id: '2', about, size: 2 },
  ]
  answerCalls(() => ({ jobs, nextCursor: null }))
  const container = await show(createElement(Jobs, { appId }))
  await vi.waitUntil(() => container.querySelector('td'))
  expect(cellsOf(container, 2)).toEqual([
    'message m1Channeluser ana and 3 more',
    'message m1Channeluser ana',
  ])
  expect(named(container, 'a', 'Channel').getAttribute('href')).toBe(`#/apps/${appId}/channels/c1`)
})

test('the page is there again once an operator has signed in', async () => {
  const { useSession } = await import('@parley/client/internal/console/session.tsx')
  const unauthorized = new ChatError('no', { code: 'UNAUTHORIZED', status: 401 })
  const Inside = () => {
    const { noteFailure } = useSession()
    const fail = (code: 'UNAUTHORIZED' | 'FORBIDDEN') => () =>
      noteFailure(
        code === 'UNAUTHORIZED' ? unauthorized : new ChatError('no', { code, status: 403 }),
      )
    const [refused, ended] = [fail('FORBIDDEN'), fail('UNAUTHORIZED')]
    return createElement('p', null, [
      createElement('button', { type: 'button', key: 1, onClick: refused }, 'refused'),
      createElement('button', { type: 'button', key: 2, onClick: ended }, 'ended'),
    ])
  }
  const container = await show(createElement(Inside))
  await page.click(named(container, 'button', 'refused'))
  expect(container.textContent).toContain('ended')
  await page.click(named(container, 'button', 'ended'))
  expect(container.textContent).not.toContain('refused')
  let isRefused = true
  const calls = answerCalls(() => (isRefused ? refusal(401, 'UNAUTHORIZED') : {}))
  const submit = () => page.submit(container.querySelector('form') as Element)
  await page.type(field(container, 'Admin key'), 'wrong')
  await submit()
  await vi.waitUntil(() => container.querySelector('[role=alert]'))
  isRefused = false
  await page.type(field(container, 'Admin key'), 'right')
  await submit()
  await vi.waitUntil(() => container.textContent?.includes('refused'))
  expect(calls.map(({ method }) => method)).toEqual(['POST', 'POST'])
  expect(calls.map(({ body }) => JSON.stringify(body))[1]).toContain('right')
})
