import * as hooks from '@parley/client/react'
import { createFakeChat } from '@parley/client/testing'
import React, { act, createElement } from 'react'
import { createRoot } from 'react-dom/client'
import { expect, onTestFinished, test, vi } from 'vitest'
import { useDom } from '../support/dom.ts'
import { examplesOf, runExamples } from '../support/examples.ts'
import { patient } from '../support/until.ts'

const window = useDom({ acts: true })

test("the app of the client's README marks as read what it shows", async () => {
  const fake = createFakeChat({ me: 'ana', channels: [{ id: 'team', name: 'Team' }] })
  const room = fake.channel('team')
  room.receive({ from: 'ben', text: 'Hello' })
  const container = await showApp({ useChatClient: () => fake })
  expect(container.textContent).toContain('ben: Hello')
  expect(container.textContent).toContain('0 unread')
  await act(async () => void room.receive({ from: 'ben', text: 'And hello again' }))
  expect(container.textContent).toContain('0 unread')
})

test("the app of the client's README says what is wrong where nobody mints tokens", async () => {
  const container = await showApp({ fetch: async () => new Response(null, { status: 503 }) })
  await act(async () => container.querySelector('button')?.click())
  const alert = () => container.querySelector('[role=alert]')?.textContent
  const isShown = () => expect(alert()).toContain('/chat-token answered 503')
  await vi.waitFor(() => act(isShown), patient)
})

/** Shows the app, with these in place of what it imports or finds. */
async function showApp(others: object) {
  const [app = ''] = examplesOf('client-sdk/README.md', 'tsx')
  const { useEffect, useState } = React
  const given = { ...hooks, React, useEffect, useState, ...others }
  const { App } = await runExamples([app], given, ['App'])
  const container = window.document.createElement('div')
  const page = createRoot(container as never) // an element of another DOM
  onTestFinished(() => act(() => page.unmount()))
  await act(async () => page.render(createElement(App)))
  return container
}
