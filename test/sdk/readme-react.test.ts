import * as hooks from '@parley/client/react'
import { createFakeChat } from '@parley/client/testing'
import React, { act, createElement, type ReactNode } from 'react'
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

test("the app of the client's README says what is wrong without a token endpoint", async () => {
  const container = await showApp({ fetch: async () => new Response(null, { status: 503 }) })
  await act(async () => container.querySelector('button')?.click())
  const alert = () => container.querySelector('[role=alert]')?.textContent
  const isShown = () => expect(alert()).toContain('/chat-token answered 503')
  await vi.waitFor(() => act(isShown), patient)
})

test("the app of the client's README requires a user id, and says if it is unknown", async () => {
  const refused = async () => Promise.reject(new Error('nobody has this id'))
  const client = { ...createFakeChat({ me: 'ana' }), dm: refused }
  const container = await showApp({ useChatClient: () => client })
  expect(container.querySelector('input')?.required).toBe(true)
  const submit = new window.Event('submit', { bubbles: true, cancelable: true })
  await act(async () => void container.querySelector('form')?.dispatchEvent(submit))
  expect(container.querySelector('[role=alert]')?.textContent).toBe('nobody has this id')
})

test("the thread of the client's README shows reactions, pins, replies and deletions", async () => {
  const fake = createFakeChat({ me: 'ana', channels: [{ id: 'team', name: 'Team' }] })
  const room = fake.channel('team')
  const { id } = room.receive({ from: 'ben', text: 'Lunch?' })
  room.receive({ from: 'ben', text: 'At noon', parentId: id })
  const Team = await componentOf('useThread', 'Team', {})
  const team = createElement(Team, { channelId: 'team' })
  const container = await show(createElement(hooks.ChatProvider, { client: fake }, team))
  const press = (name: string) =>
    act(async () => {
      const buttons = [...container.querySelectorAll('button')]
      buttons.find(({ textContent }) => textContent === name)?.click()
    })
  expect(container.textContent).toBe('Pinned: Lunch?LikePin1 replies')
  await press('Like')
  await press('Pin')
  expect(container.textContent).toBe('Pinned: Lunch?Lunch?👍 1LikeUnpin1 replies')
  await press('👍 1')
  await press('1 replies')
  await press('Agree')
  const thread = 'Lunch?ben: At noonana: I agreeAgree'
  expect(container.textContent).toBe(`Pinned: Lunch?Lunch?LikeUnpin2 replies${thread}`)
  await act(() => room.delete(id))
  expect(container.textContent).toContain('A deleted message')
})

/** Shows the app, with these in place of what it imports or finds. */
const showApp = async (others: object) =>
  show(createElement(await componentOf('useChatClient', 'App', others)))

/** A component of the example that has this text, with these in place of what it imports. */
async function componentOf(text: string, name: string, others: object) {
  const example = examplesOf('client-sdk/README.md', 'tsx').filter((each) => each.includes(text))
  const { useEffect, useState } = React
  const given = { ...hooks, React, useEffect, useState, ...others }
  return (await runExamples(example, given, [name]))[name]
}

async function show(element: ReactNode) {
  const container = window.document.createElement('div')
  const page = createRoot(container as never) // an element of another DOM
  onTestFinished(() => act(() => page.unmount()))
  await act(async () => page.render(element))
  return container
}
