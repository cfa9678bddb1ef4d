import { useThread } from '@parley/client/react'
import { useMemo } from 'react'
import { Composer } from './composer.tsx'
import { Drawer } from './drawer.tsx'
import { replies } from './format.ts'
import { MessageRow } from './message.tsx'
import { MessageList } from './message-list.tsx'
import { RoomContext, useRoom } from './room.ts'

/** The replies to a message, beside the channel. */
export function Thread({ parentId, onClose }: { parentId: string; onClose: () => void }) {
  const room = useRoom()
  const thread = useThread(room.channel.id, parentId)
  const inside = useMemo(() => ({ ...room, isThread: true }), [room])
  return (
    <RoomContext.Provider value={inside}>
      <Drawer title="Thread" onClose={onClose}>
        {thread.parent && (
          <div className="thread-parent">
            <MessageRow
              message={thread.parent}
              isGrouped={false}
              isActive={false}
              isInTabOrder={false}
              isTarget={false}
              onActive={() => {}}
            />
            <p className="log-note">{replies(thread.parent.replyCount)}</p>
          </div>
        )}
        {thread.status === 'failed' && thread.error && (
          <p className="empty">{thread.error.message}</p>
        )}
        <MessageList list={thread} label="Replies" />
        <Composer
          place={parentId}
          channelId={room.channel.id}
          label="Reply"
          hasFocus
          onSend={(text) => thread.send({ text })}
        />
      </Drawer>
    </RoomContext.Provider>
  )
}
