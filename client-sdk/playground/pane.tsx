import { ChatProvider, useChannelInfo, useChannels, useChat } from '@parley/client/react'
import { type RefObject, useEffect, useMemo, useRef, useState } from 'react'
import { BrowseDialog } from './browse.tsx'
import { ChannelList } from './channel-list.tsx'
import { Conversation } from './conversation.tsx'
import { CreateDialog } from './create.tsx'
import { JumpTo } from './jump-to.tsx'
import { type Navigation, NavigationContext } from './navigation.ts'
import { PaneHeader } from './pane-header.tsx'
import { Profile } from './profile.tsx'
import { type Session, SessionContext } from './session.ts'
import { hasCommandKey } from './shortcuts.tsx'
import { Toasts, useToasts } from './toasts.tsx'

type Props = { session: Session; isShown: boolean; isAlone: boolean }

/** One user with their own client: every component below acts for them. */
export const Pane = ({ session, isShown, isAlone }: Props) => (
  <SessionContext.Provider value={session}>
    <ChatProvider client={session.client}>
      <section
        className={`pane ${isShown ? '' : 'pane-behind'} ${isAlone ? 'pane-alone' : ''}`}
        aria-label={`Chat of ${session.userId}`}
      >
        <Toasts>
          <Channels />
        </Toasts>
      </section>
    </ChatProvider>
  </SessionContext.Provider>
)

type Opened = { kind: 'create' | 'browse' | 'jump' } | { kind: 'profile'; userId: string }

/** The list of channels and the open channel; on a narrow screen, one of the two. */
function Channels() {
  const chat = useChat()
  const { attempt } = useToasts()
  const { items, status } = useChannels()
  const [openId, setOpenId] = useState<string>()
  const { channel, status: channelStatus } = useChannelInfo(openId)
  const [isListShown, setListShown] = useState(true)
  const [opened, setOpened] = useState<Opened>()
  const rooms = useRef<HTMLDivElement>(null)
  const [first] = items
  useEffect(() => {
    if (!openId && first) setOpenId(first.id)
  }, [openId, first])
  useJumpKey(rooms, () => setOpened({ kind: 'jump' }))
  const close = () => setOpened(undefined)
  const navigation = useMemo<Navigation>(
    () => ({
      openChannel: (channelId) => {
        setOpenId(channelId)
        setListShown(false)
        setOpened(undefined)
      },
      openProfile: (userId) => setOpened({ kind: 'profile', userId }),
    }),
    [],
  )
  const openDirect = async (userId: string) => {
    close() // below a dialog nobody would read why it failed
    const room = await attempt(chat.dm(userId))
    if (room) navigation.openChannel(room.id)
  }
  const dialog = { onDone: navigation.openChannel, onClose: close }
  return (
    <NavigationContext.Provider value={navigation}>
      <PaneHeader />
      {/* On a narrow screen nothing else leads back to the list. */}
      <div ref={rooms} className="rooms" data-view={isListShown || !channel ? 'list' : 'room'}>
        <ChannelList
          openId={openId}
          onJump={() => setOpened({ kind: 'jump' })}
          onCreate={() => setOpened({ kind: 'create' })}
          onBrowse={() => setOpened({ kind: 'browse' })}
        />
        {channel ? (
          <Conversation key={channel.id} channel={channel} onBack={() => setListShown(true)} />
        ) : (
          <NoChannel
            isKnown={status === 'ready' && channelStatus !== 'loading'}
            wasOpen={openId !== undefined}
          />
        )}
      </div>
      {opened?.kind === 'create' && <CreateDialog {...dialog} />}
      {opened?.kind === 'browse' && <BrowseDialog {...dialog} />}
      {opened?.kind === 'jump' && (
        <JumpTo onChannel={navigation.openChannel} onPerson={openDirect} onClose={close} />
      )}
      {opened?.kind === 'profile' && (
        <Profile
          userId={opened.userId}
          onMessage={() => openDirect(opened.userId)}
          onClose={close}
        />
      )}
    </NavigationContext.Provider>
  )
}

/** Ctrl+K, or ⌘K on a Mac: in the pane that has the focus, else in the first one that is shown. */
function useJumpKey(rooms: RefObject<HTMLElement | null>, onJump: () => void) {
  const jump = useRef(onJump)
  jump.current = onJump
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      if (event.key.toLowerCase() !== 'k' || !hasCommandKey(event)) return
      event.preventDefault() // browsers have a search of their own
      if (document.querySelector('dialog[open]')) return // it may have a form
      const focused = document.activeElement?.closest('.pane')
      const pane = focused ?? document.querySelector('.pane:not(.pane-behind)')
      if (pane?.contains(rooms.current)) jump.current()
    }
    window.addEventListener('keydown', onKeyDown)
    return () => window.removeEventListener('keydown', onKeyDown)
  }, [rooms])
}

/** Until the channels are known, the list says why. */
const NoChannel = ({ isKnown, wasOpen }: { isKnown: boolean; wasOpen: boolean }) => (
  <div className="empty room">{isKnown && noChannelText(wasOpen)}</div>
)

const noChannelText = (wasOpen: boolean) =>
  wasOpen
    ? 'You are no longer a member of this channel.'
    : 'Messages appear here once you are in a channel.'
