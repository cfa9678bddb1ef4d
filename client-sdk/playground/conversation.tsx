import type { Channel, ChatMessage, MessagesSnapshot } from '@parley/client'
import { type MessageActions, useChat, useMembers, useMessages } from '@parley/client/react'
import { useCallback, useState } from 'react'
import { ChannelHeader } from './channel-header.tsx'
import { Composer } from './composer.tsx'
import { Details } from './details.tsx'
import { InviteDialog } from './invite.tsx'
import { MessageList } from './message-list.tsx'
import { type OpenChannel, OpenChannelContext } from './open-channel.ts'
import { Pins } from './pins.tsx'
import { useSession } from './session.ts'
import { Thread } from './thread.tsx'
import { useToasts } from './toasts.tsx'
import { Typing } from './typing.tsx'

type Target = { id: string }
type OpenDrawer =
  | { kind: 'thread'; parentId: string; target?: Target }
  | { kind: 'pins' }
  | { kind: 'details' }

/** An open channel: its messages, and beside them a thread or the pinned messages. */
export function Conversation({ channel, onBack }: { channel: Channel; onBack: () => void }) {
  const chat = useChat()
  const { userId: me } = useSession()
  const { attempt } = useToasts()
  const messages = useMessages(channel.id, { replies: false })
  // The actions are the same for as long as a channel is open, so memoised rows render only once.
  const [actions] = useState(() => actionsOf(messages))
  const { items: members } = useMembers(channel.id)
  const [drawer, setDrawer] = useState<OpenDrawer>()
  const [quoted, setQuoted] = useState<ChatMessage>()
  const [isInviting, setInviting] = useState(false)
  /** The message to scroll to. A new object scrolls there again. */
  const [target, setTarget] = useState<Target>()
  const [unreadSince, setUnreadSince] = useState(() =>
    channel.unreadCount > 0 ? channel.lastReadSeq : undefined,
  )
  const openThread = useCallback((parentId: string) => setDrawer({ kind: 'thread', parentId }), [])
  const isShown = (id: string) => {
    const room = chat.channel(channel.id)
    const { items } = room.messages({ replies: false }).getSnapshot()
    return items.some((message) => message.id === id)
  }
  const show: OpenChannel['show'] = async ({ id, parentId }) => {
    const loaded = messages.items.find((message) => message.id === id)
    const find = () => attempt(chat.api.messages.get({ channelId: channel.id, messageId: id }))
    const message = parentId === undefined ? (loaded ?? (await find())) : { parentId }
    if (!message) return
    if (message.parentId !== null)
      return setDrawer({ kind: 'thread', parentId: message.parentId, target: { id } })
    // A message that was not found is not scrolled to once it is loaded later.
    if (!loaded && !(await attempt(actions.jumpTo(id).then(() => isShown(id))))) return
    setDrawer(undefined) // on a narrow screen it covers the messages
    setTarget({ id })
  }
  const unquote = useCallback(() => setQuoted(undefined), [])
  const closeDrawer = useCallback(() => setDrawer(undefined), [])
  const toggle = (kind: 'pins' | 'details') =>
    setDrawer(drawer?.kind === kind ? undefined : { kind })
  const openChannel: OpenChannel = {
    channel,
    me,
    members,
    actions,
    openThread,
    quote: setQuoted,
    show,
    isThread: false,
  }
  return (
    <OpenChannelContext.Provider value={openChannel}>
      <div className="room" data-drawer={drawer !== undefined}>
        <section className="conversation" aria-label={`${channel.name}, as ${me}`}>
          <ChannelHeader onBack={onBack} onInvite={() => setInviting(true)} onToggle={toggle} />
          <MessageList
            list={messages}
            label={`Messages in ${channel.name}`}
            unreadSince={unreadSince}
            target={target}
            unreadCount={channel.unreadCount}
            unreadVersion={channel.unreadVersion}
            onRead={actions.markRead}
          />
          <Typing channelId={channel.id} />
          <Composer
            draftKey={channel.id}
            channelId={channel.id}
            label={`Message ${channel.name}`}
            quoted={quoted}
            onUnquote={unquote}
            onSend={(draft) => {
              actions.send({ ...draft, quotedMessageId: quoted?.id })
              unquote()
              setUnreadSince(undefined) // who answers has read it
              // Without a network it stays below what is shown.
              if (messages.hasNewer) actions.jumpToLatest().catch(() => {})
            }}
          />
        </section>
        {drawer?.kind === 'thread' && (
          <Thread key={drawer.parentId} {...drawer} onClose={closeDrawer} />
        )}
        {drawer?.kind === 'pins' && <Pins onClose={closeDrawer} />}
        {drawer?.kind === 'details' && (
          <Details onInvite={() => setInviting(true)} onClose={closeDrawer} />
        )}
      </div>
      {isInviting && <InviteDialog channel={channel} onClose={() => setInviting(false)} />}
    </OpenChannelContext.Provider>
  )
}

const actionsOf = ({
  items,
  status,
  error,
  hasOlder,
  hasNewer,
  ...actions
}: MessagesSnapshot & MessageActions): MessageActions => actions
