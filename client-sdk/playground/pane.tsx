import { ChatProvider, useChannels } from '@parley/client/react'
import { useEffect, useState } from 'react'
import { BrowseDialog } from './browse.tsx'
import { ChannelList } from './channel-list.tsx'
import { Conversation } from './conversation.tsx'
import { CreateDialog } from './create.tsx'
import { PaneHeader } from './pane-header.tsx'
import { type Session, SessionContext } from './session.ts'
import { Toasts } from './toasts.tsx'

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
          <PaneHeader />
          <Channels />
        </Toasts>
      </section>
    </ChatProvider>
  </SessionContext.Provider>
)

/** The list of channels and the open channel; on a narrow screen, one of the two. */
function Channels() {
  const { items, status } = useChannels()
  const [openId, setOpenId] = useState<string>()
  const [isListShown, setListShown] = useState(true)
  const [dialog, setDialog] = useState<'create' | 'browse'>()
  const channel = items.find(({ id }) => id === openId)
  const [first] = items
  useEffect(() => {
    if (!openId && first) setOpenId(first.id)
  }, [openId, first])
  const open = (channelId: string) => {
    setOpenId(channelId)
    setListShown(false)
    setDialog(undefined)
  }
  return (
    <div className="rooms" data-view={isListShown ? 'list' : 'room'}>
      <ChannelList
        openId={openId}
        onOpen={open}
        onCreate={() => setDialog('create')}
        onBrowse={() => setDialog('browse')}
      />
      {channel ? (
        <Conversation key={channel.id} channel={channel} onBack={() => setListShown(true)} />
      ) : (
        <NoChannel isLoading={status === 'loading'} wasOpen={openId !== undefined} />
      )}
      {dialog === 'create' && <CreateDialog onDone={open} onClose={() => setDialog(undefined)} />}
      {dialog === 'browse' && <BrowseDialog onDone={open} onClose={() => setDialog(undefined)} />}
    </div>
  )
}

const NoChannel = ({ isLoading, wasOpen }: { isLoading: boolean; wasOpen: boolean }) => (
  <div className="empty room">{noChannelText({ isLoading, wasOpen })}</div>
)

function noChannelText({ isLoading, wasOpen }: { isLoading: boolean; wasOpen: boolean }) {
  if (isLoading) return 'Loading…'
  return wasOpen
    ? 'You are no longer a member of this channel.'
    : 'Choose a channel, or create one.'
}
