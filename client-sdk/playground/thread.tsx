import type { ChatMessage } from '@parley/client'
import { useThread } from '@parley/client/react'
import { useEffect, useMemo } from 'react'
import { Composer } from './composer.tsx'
import { Drawer } from './drawer.tsx'
import { replies } from './format.ts'
import { MessageRow } from './message.tsx'
import { MessageList } from './message-list.tsx'
import { OpenChannelContext, useOpenChannel } from './open-channel.ts'

type Props = {
  parentId: string
  /** The reply to scroll to. */
  target?: { id: string }
  onClose: () => void
}

/** A message and its replies, in a drawer beside the channel. */
export function Thread({ parentId, target, onClose }: Props) {
  const openChannel = useOpenChannel()
  const thread = useThread(openChannel.channel.id, parentId)
  useLoadingTo(target, thread)
  const wasDeleted = thread.parent ? thread.parent.deletedAt : thread.status === 'ready'
  const threadChannel = useMemo(() => ({ ...openChannel, isThread: true }), [openChannel])
  return (
    <OpenChannelContext.Provider value={threadChannel}>
      <Drawer title="Thread" onClose={onClose}>
        <div className="thread-parent">
          {wasDeleted && <p className="log-note">The message that began it was deleted.</p>}
          {!wasDeleted && thread.parent && <Parent message={thread.parent} />}
        </div>
        <MessageList list={thread} label="Replies" target={target} />
        <Composer
          draftKey={parentId}
          channelId={openChannel.channel.id}
          label="Reply"
          hasFocus
          onSend={(draft) => thread.send(draft)}
        />
      </Drawer>
    </OpenChannelContext.Provider>
  )
}

/** Loads earlier replies until the one to scroll to is among them. */
function useLoadingTo(target: Props['target'], thread: ReturnType<typeof useThread>) {
  const { items, status, hasOlder, loadOlder } = thread
  useEffect(() => {
    const isMissing = target && !items.some(({ id }) => id === target.id)
    if (isMissing && status === 'ready' && hasOlder) loadOlder().catch(() => {}) // shown above
  }, [target, items, status, hasOlder, loadOlder])
}

const Parent = ({ message }: { message: ChatMessage }) => (
  <>
    <MessageRow
      message={message}
      isGrouped={false}
      isActive={false}
      isInTabOrder={false}
      isTarget={false}
      onActive={() => {}}
    />
    {message.replyCount > 0 && <p className="log-note">{replies(message.replyCount)}</p>}
  </>
)
