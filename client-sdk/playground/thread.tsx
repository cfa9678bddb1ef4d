import type { ChatMessage } from '@parley/client'
import { useThread } from '@parley/client/react'
import { useMemo } from 'react'
import { Composer } from './composer.tsx'
import { Drawer } from './drawer.tsx'
import { replies } from './format.ts'
import { MessageRow } from './message.tsx'
import { MessageList } from './message-list.tsx'
import { OpenChannelContext, useOpenChannel } from './open-channel.ts'

/** A message and its replies, in a drawer beside the channel. */
export function Thread({ parentId, onClose }: { parentId: string; onClose: () => void }) {
  const openChannel = useOpenChannel()
  const thread = useThread(openChannel.channel.id, parentId)
  const threadChannel = useMemo(() => ({ ...openChannel, isThread: true }), [openChannel])
  return (
    <OpenChannelContext.Provider value={threadChannel}>
      <Drawer title="Thread" onClose={onClose}>
        {thread.parent && (
          <div className="thread-parent">
            {thread.parent.deletedAt ? (
              <p className="log-note">The message that began it was deleted.</p>
            ) : (
              <Parent message={thread.parent} />
            )}
          </div>
        )}
        <MessageList list={thread} label="Replies" />
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
    <p className="log-note">{replies(message.replyCount)}</p>
  </>
)
