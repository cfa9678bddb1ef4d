import type { ChatMessage } from '@parley/client'
import { ChatProvider, useMessages } from '@parley/client/react'
import { act, createElement, memo } from 'react'
import { createRoot } from 'react-dom/client'
import { expect, onTestFinished, test } from 'vitest'
import { useDom } from '../support/dom.ts'
import { quiet, scriptedChat } from '../support/scripted/index.ts'

const window = useDom({ acts: true })

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
  const root = createRoot(window.document.createElement('div') as never) // of another DOM
  onTestFinished(() => act(() => root.unmount()))
  const tree = createElement(ChatProvider, { client: chat }, createElement(List))
  await act(() => root.render(tree))
  await act(() => chat.connect())
  await act(quiet)
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
