import type { Reaction, UserSummary } from '../types.ts'
import type { ChatMessage, TopicEvent } from './reducer.ts'

/**
 * What the user has changed and the server has not told back yet. Patches lie over the facts and never mix with them:
 * one goes when it fails, or when it was answered and a fact or an event has agreed with it at some time since. Events are
 * asked too: a fact that was read from the server may be newer than they are, and have seen the change come and go.
 */
export type Patch = {
  /** Names the patch, through all that becomes of it. */
  key: object
  messageId: string
  apply: (message: ChatMessage) => ChatMessage
  agrees: (fact: ChatMessage | undefined) => boolean
  isTold: (event: TopicEvent) => boolean
  /** The answer to the call is all there is to wait for. */
  isToldByAnswer?: boolean
  isAnswered?: boolean
  hasAgreed?: boolean
}

export const patches = {
  edit: (messageId: string, text: string): Patch => ({
    key: {},
    messageId,
    apply: (message) => ({ ...message, text }),
    agrees: (fact) => fact?.text === text,
    isTold: () => false,
    isToldByAnswer: true,
  }),
  delete: (messageId: string): Patch => ({
    key: {},
    messageId,
    apply: (message) => ({ ...message, deletedAt: message.deletedAt ?? new Date(0).toISOString() }),
    agrees: (fact) => !fact || fact.deletedAt !== null,
    isTold: (event) => event.type === 'message.deleted' && event.payload.messageId === messageId,
  }),
  pin: (messageId: string, pinned: boolean): Patch => ({
    key: {},
    messageId,
    apply: (message) => ({ ...message, pinned }),
    agrees: (fact) => !fact || fact.pinned === pinned,
    isTold: (event) =>
      event.type === 'message.updated' &&
      event.payload.message.id === messageId &&
      event.payload.message.pinned === pinned,
  }),
  react: (
    messageId: string,
    emoji: string,
    { isOn, me }: { isOn: boolean; me: UserSummary },
  ): Patch => ({
    key: {},
    messageId,
    apply: (message) =>
      hasOwn(message, emoji) === isOn
        ? message
        : { ...message, reactions: toggle(message.reactions, emoji, me) },
    agrees: (fact) => !fact || hasOwn(fact, emoji) === isOn,
    isTold: ({ type, payload }) =>
      type === (isOn ? 'reaction.added' : 'reaction.removed') &&
      payload.messageId === messageId &&
      payload.reaction.type === emoji &&
      payload.reaction.userId === me.id,
  }),
}

const hasOwn = ({ reactions }: ChatMessage, emoji: string) =>
  reactions.some(({ type, own }) => own && type === emoji)

function toggle(reactions: readonly Reaction[], emoji: string, me: UserSummary): Reaction[] {
  const reaction = reactions.find(({ type }) => type === emoji)
  if (!reaction) return [...reactions, { type: emoji, count: 1, own: true, users: [me] }]
  const others = reaction.users.filter(({ id }) => id !== me.id)
  const changed = reaction.own
    ? { ...reaction, count: reaction.count - 1, own: false, users: others }
    : { ...reaction, count: reaction.count + 1, own: true, users: [...others, me].slice(0, 10) }
  return reactions.flatMap((each) =>
    each !== reaction ? [each] : changed.count > 0 ? [changed] : [],
  )
}

/** The patches that are still needed over these facts. */
export function settle(
  all: readonly Patch[],
  facts: ReadonlyMap<string, ChatMessage>,
): readonly Patch[] {
  const noted = all.map((patch) =>
    !patch.hasAgreed && patch.agrees(facts.get(patch.messageId))
      ? { ...patch, hasAgreed: true }
      : patch,
  )
  const needed = noted.filter(({ isAnswered, hasAgreed }) => !(isAnswered && hasAgreed))
  return needed.length === all.length && needed.every((patch, index) => patch === all[index])
    ? all
    : needed
}

const known = new WeakMap<ChatMessage, { all: readonly Patch[]; message: ChatMessage }>()

/** A message as it is shown with the patches that lie over it; the same object until either changes. */
export function patched(fact: ChatMessage, all: readonly Patch[]): ChatMessage {
  const own = all.filter(({ messageId }) => messageId === fact.id)
  if (own.length === 0) return fact
  const before = known.get(fact)
  if (before?.all === all) return before.message
  const message = own.reduce((message, patch) => patch.apply(message), fact)
  known.set(fact, { all, message })
  return message
}
