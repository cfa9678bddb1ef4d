import { type ChatClient, ChatError, type ChatMessage } from '@parley/client'
import { ChatProvider, useChannels, useMessages, useThread } from '@parley/client/react'
import { createFakeChat } from '@parley/client/testing'
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

test('each action on messages does what its name says', async () => {
  const fake = createFakeChat({ channels: [{ id: 'c' }] })
  const room = fake.channel('c')
  const { id } = room.receive({ from: 'ana', text: 'hello' })
  let shown: ReturnType<typeof useMessages> | undefined
  await show(fake, () => {
    shown = useMessages('c')
    return null
  })
  const marks = () => {
    const [hello] = shown?.items ?? []
    return [hello?.pinned, hello?.reactions.map(({ type }) => type).join('')]
  }
  const after = async (action: () => unknown) => {
    await act(async () => void (await action()))
    return marks()
  }
  expect(await after(() => shown?.pin(id))).toEqual([true, ''])
  expect(await after(() => shown?.react(id, '👍'))).toEqual([true, '👍'])
  expect(await after(() => shown?.unreact(id, '👍'))).toEqual([true, ''])
  expect(await after(() => shown?.unpin(id))).toEqual([false, ''])
  room.refuse(new ChatError('no', { code: 'FORBIDDEN', status: 403 }))
  const statuses = () =>
    shown?.items.map(({ clientId, status }) => `${clientId} ${status}`).slice(1)
  for (const clientId of ['one', 'two'])
    await act(() => shown?.send({ clientId, text: clientId }).sent.catch(() => {}))
  room.refuse()
  await act(async () => shown?.discard('one'))
  expect(statuses()).toEqual(['two failed'])
  await act(async () => shown?.retry('two'))
  expect(statuses()).toEqual(['two sent'])
})

test('a jump back to the newest messages shows the last page at once', async () => {
  const { chat, channel } = scriptedChat()
  const talk = channel('c')
  for (let n = 1; n <= 300; n++) talk.send(`${n}`)
  let shown: ReturnType<typeof useMessages> | undefined
  await show(chat, () => {
    shown = useMessages('c')
    return null
  })
  const ends = () => [shown?.items.at(-1)?.text, shown?.hasNewer]
  await act(() => shown?.jumpTo('c-0010'))
  expect(ends()).toEqual(['35', true])
  await act(() => shown?.loadNewer())
  expect(ends()).toEqual(['85', true])
  await act(() => shown?.jumpToLatest())
  expect(ends()).toEqual(['300', false])
})
