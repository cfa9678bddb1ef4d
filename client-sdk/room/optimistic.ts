import type { MessageEdit } from '../backing-store/storage.ts'
import { REACTION_USERS } from '../generated/limits.ts'
import type { Message, Reaction, UserSummary } from '../generated/types.ts'
import { withEdit } from '../outbox/entry.ts'
import type { ChannelEvent } from '../realtime/events.ts'
import { keepIfEqual, memoize } from '../shared/equality.ts'
import type { ChatMessage } from './state.ts'

/**
 * A change that the user made and the server has not confirmed. It is shown on top of the server's
 * state and never mixed with it. It goes when the call fails, or when the call has succeeded and a
 * message or an event has reflected the change at any time. Events count too: a message that was
 * fetched may be so new that the change was undone again in it.
 */
export type OptimisticUpdate = {
  /** The operation's, which identifies the update through its copies. */
  key?: string
  messageId: string
  apply: <Shown extends Message>(message: Shown) => Shown
  isReflectedIn: (message: ChatMessage) => boolean
  isReflectedBy: (event: ChannelEvent) => boolean
  hasResponse?: boolean
  wasReflected?: boolean
}

/** An edit, and when the user made it. */
type Edit = MessageEdit & { createdAt: string }

/** Any time: deleted messages are not shown. */
const DELETED_AT = new Date(0).toISOString()

export const optimistic = {
  edit: (messageId: string, edit: Edit): OptimisticUpdate => ({
    messageId,
    apply: (message) => {
      const edited = withEdit(message, edit)
      // What was changed before it was sent is no edit for the others.
      const isEdit = message.rev > 0 && edited.text !== message.text
      return isEdit ? { ...edited, editedAt: edit.createdAt } : edited
    },
    // The response contains the changed message: there is nothing else to wait for.
    isReflectedIn: () => true,
    isReflectedBy: () => true,
  }),
  delete: (messageId: string): OptimisticUpdate => ({
    messageId,
    apply: (message) => ({ ...message, deletedAt: message.deletedAt ?? DELETED_AT }),
    isReflectedIn: (message) => message.deletedAt !== null,
    isReflectedBy: (event) =>
      event.type === 'message.deleted' && event.payload.messageId === messageId,
  }),
  pin: (messageId: string, pinned: boolean): OptimisticUpdate => ({
    messageId,
    apply: (message) => ({ ...message, pinned }),
    isReflectedIn: (message) => message.pinned === pinned,
    isReflectedBy: (event) =>
      event.type === 'message.updated' &&
      event.payload.message.id === messageId &&
      event.payload.message.pinned === pinned,
  }),
  react: (
    messageId: string,
    emoji: string,
    { isOn, me }: { isOn: boolean; me: UserSummary },
  ): OptimisticUpdate => ({
    messageId,
    apply: (message) =>
      hasOwnReaction(message, emoji) === isOn
        ? message
        : { ...message, reactions: toggleReaction(message.reactions, emoji, me) },
    isReflectedIn: (message) => hasOwnReaction(message, emoji) === isOn,
    isReflectedBy: ({ type, payload }) =>
      type === (isOn ? 'reaction.added' : 'reaction.removed') &&
      payload.messageId === messageId &&
      payload.reaction.type === emoji &&
      payload.reaction.userId === me.id,
  }),
}

const hasOwnReaction = ({ reactions }: Message, emoji: string) =>
  reactions.some(({ type, own }) => own && type === emoji)

function toggleReaction(reactions: readonly Reaction[], emoji: string, me: UserSummary) {
  const known = reactions.find(({ type }) => type === emoji)
  const reaction = known ?? { type: emoji, count: 0, own: false, users: [] }
  const { count, own } = reaction
  const others = reaction.users.filter(({ id }) => id !== me.id)
  const users = own ? others : [...others, me].slice(0, REACTION_USERS)
  const toggled = { ...reaction, count: own ? count - 1 : count + 1, own: !own, users }
  return (known ? reactions : [...reactions, reaction])
    .map((each) => (each === reaction ? toggled : each))
    .filter(({ count }) => count > 0)
}

/** The updates without those that the server has confirmed. */
export function withoutConfirmed(
  updates: readonly OptimisticUpdate[],
  messages: Pick<ReadonlyMap<string, ChatMessage>, 'get'>,
): readonly OptimisticUpdate[] {
  const pending = updates
    .map((update) => {
      const message = messages.get(update.messageId)
      // One that is not loaded may be on its way, as after a reload, until the call has succeeded.
      const isReflected = message ? update.isReflectedIn(message) : update.hasResponse
      return isReflected && !update.wasReflected ? { ...update, wasReflected: true } : update
    })
    .filter(({ hasResponse, wasReflected }) => !(hasResponse && wasReflected))
  return keepIfEqual(updates, pending)
}

/** A message with the updates that concern it; the same object until either changes. */
export const withUpdates = /* @__PURE__ */ memoize(
  <Shown extends Message>(message: Shown, updates: readonly OptimisticUpdate[]): Shown =>
    updates
      // A change of a then unsent message has its key until the answer comes.
      .filter(({ messageId }) => messageId === message.id || messageId === message.clientId)
      .reduce((result, update) => update.apply(result), message),
)
