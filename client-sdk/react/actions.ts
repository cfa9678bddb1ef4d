import { useMemo } from 'react'
import type { MessagesStore, PagedStore, Room, ThreadSnapshot } from '../index.ts'

type RoomActions = Pick<
  Room,
  | 'send'
  | 'edit'
  | 'delete'
  | 'react'
  | 'unreact'
  | 'pin'
  | 'unpin'
  | 'retry'
  | 'discard'
  | 'markRead'
>
/** The actions on the messages of a channel that `useMessages` returns. */
export type MessageActions = RoomActions &
  Pick<MessagesStore, 'loadOlder' | 'loadNewer' | 'jumpTo' | 'jumpToLatest'>
/** The actions on the replies of a thread that `useThread` returns. */
export type ThreadActions = RoomActions & Pick<MessagesStore, 'loadOlder' | 'loadNewer'>

/** The same functions at each render, so that memoised components do not rerender. */
export const useActions = (
  room: Room | undefined,
  messages: MessagesStore | undefined,
): MessageActions =>
  useMemo(
    () => ({
      ...actionsOf(room),
      loadOlder: async () => messages?.loadOlder(),
      loadNewer: async () => messages?.loadNewer(),
      jumpTo: async (id) => messages?.jumpTo(id),
      jumpToLatest: async () => messages?.jumpToLatest(),
    }),
    [room, messages],
  )

/** The same for a thread. Of it only `markRead` concerns the whole channel. */
export const useThreadActions = (
  room: Room | undefined,
  {
    thread,
    parentId,
  }: { thread: PagedStore<ThreadSnapshot> | undefined; parentId: string | undefined },
): ThreadActions =>
  useMemo(() => {
    const actions = actionsOf(room)
    return {
      ...actions,
      send: (draft) => {
        if (room && !thread) throw new Error('unable to send; no thread is chosen')
        return actions.send({ ...draft, parentId })
      },
      loadOlder: async () => thread?.loadOlder(),
      loadNewer: async () => thread?.loadNewer(),
    }
  }, [room, thread, parentId])

function actionsOf(room: Room | undefined): RoomActions {
  const chosen = () => {
    if (!room) throw new Error('unable to do that; no channel is chosen')
    return room
  }
  return {
    send: (draft) => chosen().send(draft),
    edit: async (id, change) => chosen().edit(id, change),
    delete: async (id) => chosen().delete(id),
    react: async (id, emoji) => chosen().react(id, emoji),
    unreact: async (id, emoji) => chosen().unreact(id, emoji),
    pin: async (id) => chosen().pin(id),
    unpin: async (id) => chosen().unpin(id),
    retry: (clientId) => chosen().retry(clientId),
    discard: (clientId) => chosen().discard(clientId),
    markRead: async (id) => room?.markRead(id),
  }
}
