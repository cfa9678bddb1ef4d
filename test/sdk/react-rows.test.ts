import type { ChatClient, ChatMessage } from '@parley/client'
import { ChatProvider, useChannels, useMessages, useThread } from '@parley/client/react'
import { act, createElement, memo, type ReactNode } from 'react'
import { createRoot } from 'react-dom/client'
import { expect, onTestFinished, test } from 'vitest'
import { useDom } from '../support/dom.ts'
import { quiet, scriptedChat } from '../support/scripted/index.ts'

const window = useDom({ acts: true })

/** Renders a component with a client, which connects. */
async function show(client: ChatClient, component: () => ReactNode) {
  const root = createRoot(window.document.createElement('div') as never) // of another DOM
  onTestFinished(() => act(() => root.unmount()))
  await act(() => root.render(createElement(ChatProvider, { client }, createElement(component))))
  await act(() => client.connect())
  await act(quiet)
}

test('hooks load the channels and the replies beyond the first page', async () => {
  const { chat, channel } = scriptedChat()
  for (let n = 1; n <= 60; n++) channel(`c${n}`)
  const talk = channel('c')
  const { id } = talk.send('root')
  for (let n = 1; n <= 60; n++) talk.send(`${n}`, { parentId: id })
  let list: ReturnType<typeof useChannels> | undefined
  let thread: ReturnType<typeof useThread> | undefined
  await show(chat, () => {
    list = useChannels()
    thread = useThread('c', id)
    return null
  })
  const counts = () => [list?.items.length, thread?.items.length]
  expect(counts()).toEqual([50, 50])
  await act(async () => {
    await list?.loadMore()
    await thread?.loadOlder()
  })
  expect(counts()).toEqual([61, 60])
})

test('a message list renders only rows that are new or have changed', async () => {
  const { chat, channel } = scriptedChat()
  const talk = channel('c')
  for (let count = 0; count < 50; count++) talk.send(`message ${count}`)
  let rendered: string[] = []
  const Row = memo(({ message }: { message: ChatMessage }) => {
    rendered.push(message.text)
    return message.text
  })
  const List = () =>
    useMessages('c').items.map((message) =>
      createElement(Row, { key: message.clientId ?? message.id, message }),
    )
  await show(chat, List)
  expect(rendered).toHaveLength(50)
  /** The texts of the rows that an event or an action renders. */
  const rows = async (action: () => unknown) => {
    rendered = []
    await act(async () => void (await action()))
    await act(quiet)
    return [...new Set(rendered)]
  }
  expect(await rows(() => talk.send('new'))).toEqual(['new'])
  expect(await rows(() => chat.channel('c').send({ text: 'own' }).sent)).toEqual(['own'])
  expect(await rows(() => talk.type('ana'))).toEqual([])
  const { id } = talk.messages[7] ?? { id: '' }
  expect(await rows(() => talk.pin(id))).toEqual(['message 7'])
})
