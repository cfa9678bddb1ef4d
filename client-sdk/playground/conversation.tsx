import type { Channel } from '@parley/client'
import { useLastActive, useMembers, useMessages, usePins } from '@parley/client/react'
import { useCallback, useMemo, useState } from 'react'
import { PresentAvatar } from './avatar.tsx'
import { ChannelFace } from './channel-list.tsx'
import { Composer } from './composer.tsx'
import { agoOf, plural } from './format.ts'
import { Icon } from './icons.tsx'
import { InviteDialog } from './invite.tsx'
import { MessageList } from './message-list.tsx'
import { Pins } from './pins.tsx'
import { type Room, RoomContext, useRoom } from './room.ts'
import { useSession } from './session.ts'
import { Thread } from './thread.tsx'
import { useTell } from './toasts.tsx'
import { Typing } from './typing.tsx'

type Drawer = { kind: 'thread'; parentId: string } | { kind: 'pins' }

/** An open channel: its messages, and beside them a thread or the pinned ones. */
export function Conversation({ channel, onBack }: { channel: Channel; onBack: () => void }) {
  const { userId: me } = useSession()
  const { attempt } = useTell()
  const messages = useMessages(channel.id)
  const { items: members } = useMembers(channel.id)
  const [drawer, setDrawer] = useState<Drawer>()
  const [isInviting, setInviting] = useState(false)
  /** The message that is to be looked at; each time a new object. */
  const [target, setTarget] = useState<{ id: string }>()
  const [unreadSince] = useState(() => (channel.unreadCount > 0 ? channel.lastReadSeq : undefined))
  const {
    send,
    edit,
    delete: remove,
    react,
    unreact,
    pin,
    unpin,
    retry,
    discard,
    markRead,
    loadOlder,
    loadNewer,
    jumpTo,
    jumpToLatest,
  } = messages
  const actions = useMemo(
    () => ({
      send,
      edit,
      delete: remove,
      react,
      unreact,
      pin,
      unpin,
      retry,
      discard,
      markRead,
      loadOlder,
      loadNewer,
      jumpTo,
      jumpToLatest,
    }),
    [
      send,
      edit,
      remove,
      react,
      unreact,
      pin,
      unpin,
      retry,
      discard,
      markRead,
      loadOlder,
      loadNewer,
      jumpTo,
      jumpToLatest,
    ],
  )
  const isShown = (id: string) => messages.items.some((message) => message.id === id)
  const show = async (id: string) => {
    if (!isShown(id)) await attempt(jumpTo(id))
    setDrawer(undefined) // it may lie over the messages
    setTarget({ id })
  }
  const openThread = useCallback((parentId: string) => setDrawer({ kind: 'thread', parentId }), [])
  const close = useCallback(() => setDrawer(undefined), [])
  const room: Room = { channel, me, members, actions, openThread, show, isThread: false }
  return (
    <RoomContext.Provider value={room}>
      <div className="room" data-drawer={drawer !== undefined}>
        <section className="conversation" aria-label={channel.name}>
          <RoomHeader
            onBack={onBack}
            onInvite={() => setInviting(true)}
            onPins={() => setDrawer(drawer?.kind === 'pins' ? undefined : { kind: 'pins' })}
          />
          <MessageList
            list={messages}
            label={`Messages in ${channel.name}`}
            unreadSince={unreadSince}
            target={target}
            onRead={markRead}
          />
          <Typing channelId={channel.id} />
          <Composer
            place={channel.id}
            channelId={channel.id}
            label={`Message ${channel.name}`}
            onSend={(text) => send({ text })}
          />
        </section>
        {drawer?.kind === 'thread' && (
          <Thread key={drawer.parentId} parentId={drawer.parentId} onClose={close} />
        )}
        {drawer?.kind === 'pins' && <Pins onClose={close} />}
      </div>
      {isInviting && <InviteDialog channel={channel} onClose={() => setInviting(false)} />}
    </RoomContext.Provider>
  )
}

function RoomHeader({
  onBack,
  onInvite,
  onPins,
}: {
  onBack: () => void
  onInvite: () => void
  onPins: () => void
}) {
  const { channel, members, me } = useRoom()
  const pins = usePins(channel.id)
  const other =
    channel.type === 'messaging' ? members.find(({ userId }) => userId !== me) : undefined
  return (
    <header className="room-header">
      <button
        type="button"
        className="icon-button room-back"
        aria-label="Back to channels"
        onClick={onBack}
      >
        <Icon name="back" />
      </button>
      <ChannelFace channel={channel} />
      <div className="room-title">
        <h3>{channel.name}</h3>
        <p>
          {other ? (
            <LastActive userId={other.userId} />
          ) : (
            (channel.description ?? plural(channel.memberCount, 'member'))
          )}
        </p>
      </div>
      {!other && (
        <ul className="faces" aria-label="Members">
          {members.slice(0, 4).map(({ userId, user }) => (
            <li key={userId}>
              <PresentAvatar id={userId} name={user.name} size="small" />
            </li>
          ))}
        </ul>
      )}
      {channel.type !== 'messaging' && (
        <button
          type="button"
          className="icon-button"
          aria-label="Invite people"
          title="Invite people"
          onClick={onInvite}
        >
          <Icon name="personAdd" />
        </button>
      )}
      <button
        type="button"
        className="icon-button"
        aria-label={`Pinned messages: ${pins.items.length}`}
        title="Pinned messages"
        onClick={onPins}
      >
        <Icon name="pin" />
        {pins.items.length > 0 && <span className="count">{pins.items.length}</span>}
      </button>
    </header>
  )
}

function LastActive({ userId }: { userId: string }) {
  const { isOnline, lastActiveAt } = useLastActive(userId)
  return isOnline ? 'Online' : agoOf(lastActiveAt)
}
