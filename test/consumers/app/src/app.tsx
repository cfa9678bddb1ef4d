import {
  ChatProvider,
  useChannels,
  useChatClient,
  useConnection,
  useMessages,
  useUnread,
} from '@parley/client/react'
import { indexedDbSnapshots } from '@parley/client/snapshots'
import { type FormEvent, useCallback, useMemo, useState } from 'react'
import { fetchToken, type Settings } from './settings.ts'

export function App({ userId, url }: Settings) {
  const token = useCallback(() => fetchToken(userId), [userId])
  const snapshots = useMemo(() => indexedDbSnapshots({ intervalMs: 50 }), [])
  const chat = useChatClient({ url, token, userId, snapshots })
  if (!chat) return <p>Please log in.</p>
  return (
    <ChatProvider client={chat}>
      <Connection />
      <Channels />
    </ChatProvider>
  )
}

function Connection() {
  const { status, lastError } = useConnection()
  const { total } = useUnread()
  return (
    <header>
      <p role="status">{status}</p>
      <p>{total} unread</p>
      {lastError && <p role="alert">{lastError.message}</p>}
    </header>
  )
}

function Channels() {
  const { items } = useChannels({ type: 'group' })
  const [channel] = items
  return channel ? <Conversation channelId={channel.id} name={channel.name ?? ''} /> : null
}

function Conversation({ channelId, name }: { channelId: string; name: string }) {
  const { items, send, status } = useMessages(channelId)
  const [text, setText] = useState('')
  const submit = (event: FormEvent) => {
    event.preventDefault()
    send({ text })
    setText('')
  }
  return (
    <main>
      <h1>{name}</h1>
      <ol aria-busy={status === 'loading'}>
        {items.map((message) => (
          <li key={message.clientId ?? message.id} data-status={message.status}>
            {message.user.name}: {message.text}
          </li>
        ))}
      </ol>
      <form onSubmit={submit}>
        <input
          aria-label="Message"
          value={text}
          onChange={({ currentTarget }) => setText(currentTarget.value)}
        />
      </form>
    </main>
  )
}
