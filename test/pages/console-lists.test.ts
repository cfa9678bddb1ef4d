import { createDeferred } from '@parley/client/internal/shared/timing'
import { act, createElement, Fragment } from 'react'
import { expect, test, vi } from 'vitest'
import { inConsole } from './in-console.ts'
import { named, usePage } from './page.ts'

const page = usePage()

type Page = { rows: string[]; nextCursor: string | null }

/** A list of texts, page by page, with the buttons of a table. */
async function listOf(load: (key: string, cursor: string | undefined) => Promise<Page>) {
  const { usePages } = await import('@parley/client/internal/console/use-pages')
  const { PagedTable, Refresh } = await import('@parley/client/internal/console/table.tsx')
  const columns = [{ title: 'Text', cell: (row: string) => row }]
  const List = ({ name }: { name: string }) => {
    const pages = usePages((cursor) => load(name, cursor), name)
    const table = { label: 'Texts', columns, pages, keyOf: (row: string) => row, empty: 'None.' }
    return createElement(
      Fragment,
      null,
      createElement(Refresh, { reload: pages.reload }),
      createElement(PagedTable<string>, table),
    )
  }
  return (name: string) => inConsole(createElement(List, { name }))
}
const textsIn = (container: Element) =>
  [...container.querySelectorAll('td')].map(({ textContent }) => textContent)

test('an answer for the list before comes too late for the one that is shown', async () => {
  const answers = { first: createDeferred<Page>(), second: createDeferred<Page>() }
  const element = await listOf((name) => answers[name as keyof typeof answers].promise)
  const { container, render } = await page.show(await element('first'))
  await render(await element('second'))
  await act(async () => answers.second.resolve({ rows: ['of the second'], nextCursor: null }))
  await act(async () => answers.first.resolve({ rows: ['of the first'], nextCursor: 'more' }))
  expect(textsIn(container)).toEqual(['of the second'])
  expect(container.textContent).not.toContain('Show more')
})

test('a search goes on through ten slices without a row, and then waits', async () => {
  const asked: (string | undefined)[] = []
  const element = await listOf(async (_, cursor) => {
    asked.push(cursor)
    const at = Number(cursor ?? 0)
    return { rows: at === 12 ? ['found'] : [], nextCursor: at < 12 ? `${at + 1}` : null }
  })
  const { container } = await page.show(await element('list'))
  await vi.waitUntil(() => !container.textContent?.includes('Loading'))
  expect([asked.length, container.textContent]).toEqual([
    11,
    'RefreshNothing found so far.Show more',
  ])
  await page.click(named(container, 'button', 'Show more'))
  await vi.waitUntil(() => textsIn(container).length > 0)
  expect([textsIn(container), asked.at(-1)]).toEqual([['found'], '12'])
  expect(container.textContent).not.toContain('Show more')
})

test('rows stay when the next page fails, and it says why until a page comes', async () => {
  let isBroken = true
  const { ChatError } = await import('@parley/client')
  const element = await listOf(async (_, cursor) => {
    if (cursor === undefined) return { rows: ['one'], nextCursor: 'two' }
    if (isBroken) throw new ChatError('too slow', { code: 'UNAVAILABLE', status: 503 })
    return { rows: ['two'], nextCursor: null }
  })
  const { container } = await page.show(await element('list'))
  await page.click(named(container, 'button', 'Show more'))
  expect([textsIn(container), container.querySelector('.refusal code')?.textContent]).toEqual([
    ['one'],
    'UNAVAILABLE',
  ])
  isBroken = false
  await page.click(named(container, 'button', 'Show more'))
  expect([textsIn(container), container.querySelector('.refusal')]).toEqual([['one', 'two'], null])
  await page.click(named(container, 'button', 'Refresh'))
  expect(textsIn(container)).toEqual(['one'])
})

test('a list that is refused because the session has ended asks to sign in', async () => {
  const { ChatError } = await import('@parley/client')
  const ended = new ChatError('Sign in', { code: 'UNAUTHORIZED', status: 401 })
  const element = await listOf(() => Promise.reject(ended))
  const { container } = await page.show(await element('list'))
  expect(container.querySelector('input[type="password"]')).not.toBeNull()
})

type Shown = { load: () => Promise<string>; name: string; everyMs?: number }

/** What is loaded, and why it is not. */
async function dataOf() {
  const { useData } = await import('@parley/client/internal/console/use-data')
  const Shown = ({ load, name, ...more }: Shown) => {
    const { data = '', problem } = useData(load, { key: name, ...more })
    return `${data}${problem ? ` ${problem.code}` : ''}`
  }
  return (props: Shown) => inConsole(createElement(Shown, props))
}

test('what was loaded stays when it fails to load again, and goes with its key', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  try {
    const element = await dataOf()
    let load = async () => 'data'
    const props = { name: 'a', everyMs: 1_000, load: () => load() }
    const { container, render } = await page.show(await element(props))
    expect(container.textContent).toBe('data')
    load = () => Promise.reject(new Error('down'))
    await act(async () => void vi.advanceTimersByTime(1_000))
    expect(container.textContent).toBe('data ERROR')
    load = () => new Promise(() => {})
    await render(await element({ ...props, name: 'b' }))
    expect(container.textContent).toBe('')
  } finally {
    vi.useRealTimers()
  }
})

test('nothing is loaded again while an answer is awaited, or the page is hidden', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  try {
    const element = await dataOf()
    const answers: ReturnType<typeof createDeferred<string>>[] = []
    const load = () => {
      const answer = createDeferred<string>()
      answers.push(answer)
      return answer.promise
    }
    await page.show(await element({ name: 'a', everyMs: 1_000, load }))
    const seconds = (count: number) => act(async () => void vi.advanceTimersByTime(count * 1_000))
    await seconds(3)
    expect(answers).toHaveLength(1)
    await act(async () => answers[0]?.resolve('data'))
    Object.defineProperty(document, 'visibilityState', { value: 'hidden', configurable: true })
    await seconds(3)
    Reflect.deleteProperty(document, 'visibilityState')
    expect(answers).toHaveLength(1)
    await seconds(1)
    expect(answers).toHaveLength(2)
  } finally {
    vi.useRealTimers()
  }
})
