import { Window } from 'happy-dom'
import { act, type ReactNode } from 'react'
import { onTestFinished, vi } from 'vitest'

/** Where the pages of the tests are: modules that are imported once compute addresses from it. */
const PAGE = 'http://parley.test/console/'

/**
 * The globals of a page during the tests of a file, without a browser: its parts are rendered in
 * milliseconds. What needs a layout is tested in Chromium. Import the parts in the tests: some look
 * at the address while they are imported.
 */
export function usePage() {
  const window = new Window({ url: PAGE })
  const { document, location, history, localStorage, sessionStorage } = window
  const { HTMLElement, HashChangeEvent, CloseEvent, navigator } = window
  const all = {
    ...{ window, document, location, history, localStorage, sessionStorage, navigator },
    ...{ HTMLElement, HashChangeEvent, CloseEvent },
    ...{ ResizeObserver: NoObserver, IntersectionObserver: NoObserver },
    ...{ WebSocket: NoSocket },
    IS_REACT_ACT_ENVIRONMENT: true,
  }
  // They stay: the process of a file ends with it. Some versions of Node.js have some of them.
  for (const [name, value] of Object.entries(all))
    Object.defineProperty(globalThis, name, { value, configurable: true, writable: true })
  const { body } = document as unknown as Document // as far as it is used here
  /** Renders something into the page, until the test ends. */
  const show = async (element: ReactNode) => {
    const container = (document as unknown as Document).createElement('div') // likewise
    body.append(container)
    // It handles typing only if there is a DOM while it is loaded.
    const { createRoot } = await import('react-dom/client')
    const root = createRoot(container)
    onTestFinished(async () => {
      await act(() => root.unmount())
      container.remove()
    })
    const render = (next: ReactNode) => act(async () => root.render(next))
    await render(element)
    return { container, render }
  }
  /** What a user does in the page. */
  const dispatch = (target: Element, event: object) =>
    act(async () => void target.dispatchEvent(event as Event))
  const click = (target: Element) =>
    dispatch(target, new window.MouseEvent('click', { bubbles: true }))
  const press = (target: Element, key: string, more: object = {}) =>
    dispatch(target, new window.KeyboardEvent('keydown', { key, bubbles: true, ...more }))
  const submit = (form: Element) =>
    dispatch(form, new window.Event('submit', { bubbles: true, cancelable: true }))
  /** Changes a field as typing does. React overrides its setter. */
  const type = (field: Element, value: string) => {
    setterOf(field, 'value').call(field, value)
    const name = field.tagName === 'SELECT' ? 'change' : 'input'
    return dispatch(field, new window.Event(name, { bubbles: true }))
  }
  /** Types into a text field that looks at its caret. */
  const write = async (field: HTMLTextAreaElement, value: string) => {
    await act(async () => field.focus())
    await type(field, value)
    field.setSelectionRange(value.length, value.length)
    await dispatch(field, new window.KeyboardEvent('keyup', { bubbles: true }))
  }
  /** The mouse comes over something. */
  const enter = (target: Element) =>
    dispatch(
      target,
      new window.PointerEvent('pointerover', { bubbles: true, pointerType: 'mouse' }),
    )
  return { window, body, show, click, press, submit, type, write, enter }
}

function setterOf(element: Element, property: string): (value: string) => void {
  let owner: object | null = Object.getPrototypeOf(element)
  while (owner && !Object.hasOwn(owner, property)) owner = Object.getPrototypeOf(owner)
  const { set } = Object.getOwnPropertyDescriptor(owner ?? {}, property) ?? {}
  if (!set) throw new Error(`<${element.tagName}> has no ${property} to set`)
  return set
}

/** There is no layout to observe. */
class NoObserver {
  observe() {}
  disconnect() {}
}

/** A socket to nowhere. */
class NoSocket extends EventTarget {
  static readonly CLOSED = 3
  readonly readyState = 1
  onclose: unknown = null
  send() {}
  close() {}
}

type Call = { method: string; path: string; body: unknown }

/** Answers the calls of a page until the test ends, and keeps them. */
export function answerCalls(answer: (call: Call) => unknown) {
  const calls: Call[] = []
  vi.stubGlobal('fetch', async (input: string, init: RequestInit = {}) => {
    const { pathname, search } = new URL(input, PAGE)
    const body = typeof init.body === 'string' ? JSON.parse(init.body) : undefined
    const call = { method: init.method ?? 'GET', path: pathname + search, body }
    calls.push(call)
    const given = await answer(call)
    return given instanceof Response ? given : Response.json(given)
  })
  onTestFinished(() => void vi.unstubAllGlobals())
  return calls
}

/** An error as the server answers it. */
export const refusal = (status: number, code: string) =>
  Response.json({ error: { code, message: `refused: ${code}` } }, { status })

/** The first element with this text, or with it as its label. */
export function named(within: Element, selector: string, name: string): HTMLElement {
  const found = [...within.querySelectorAll<HTMLElement>(selector)].find(
    (each) => each.getAttribute('aria-label') === name || each.textContent?.trim() === name,
  )
  if (!found) throw new Error(`no ${selector} "${name}" in ${within.innerHTML.slice(0, 2_000)}`)
  return found
}

/** The field with this label. */
export function field(within: Element, label: string): HTMLInputElement {
  const found = [...within.querySelectorAll('label')].find((each) =>
    each.textContent?.trim().startsWith(label),
  )
  const input = found?.querySelector<HTMLInputElement>('input, textarea, select')
  if (!input) throw new Error(`no field "${label}" in ${within.innerHTML.slice(0, 2_000)}`)
  return input
}
