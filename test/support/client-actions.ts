import {
  type ChatClient,
  type ChatErrorCode,
  type ChatMessage,
  isChatError,
  type Room,
} from '@parley/client'
import fc from 'fast-check'
import { type ActionName, emojiOf } from './actions.ts'
import type { Network } from './network.ts'
import type { User } from './world.ts'

type Action = keyof typeof weights
/**
 * How often each action is picked. Those of the API have the names of `actions`. The others do one
 * of two things, act in the channel that only the lists show, or change the network.
 */
const weights = {
  send: 3,
  reply: 1,
  edit: 1,
  delete: 1,
  react: 2,
  unreact: 1,
  pin: 1,
  unpin: 1,
  read: 1,
  addOrRemove: 1,
  sendElsewhere: 2,
  readElsewhere: 1,
  addOrLeaveElsewhere: 1,
  changeSettings: 1,
  cut: 1,
  mend: 1,
  reset: 1,
  slow: 1,
  wait: 1,
} satisfies Partial<Record<ActionName | OwnAction, number>>
type OwnAction =
  | `${'send' | 'read' | 'addOrLeave'}Elsewhere`
  | 'addOrRemove'
  | 'cut'
  | 'mend'
  | 'reset'
  | 'slow'
  | 'wait'
const actions = Object.entries(weights).map(([action, weight]) => ({
  arbitrary: fc.constant(action as Action), // entries have the keys of the object
  weight,
}))
export type Step = { by: 0 | 1; action: Action; pick: number }
export type History = { steps: Step[]; delays: number[] }
/** Random actions of two clients on slow networks. */
export const histories = fc.record<History>({
  steps: fc.array(
    fc.record<Step>({
      by: fc.constantFrom(0, 1),
      action: fc.oneof(...actions),
      pick: fc.nat(10_000),
    }),
    { minLength: 10, maxLength: 20 },
  ),
  /** How late each answer is, in milliseconds: events that are newer overtake it. */
  delays: fc.array(fc.constantFrom(0, 0, 5, 20, 60), { minLength: 20, maxLength: 20 }),
})

/** The channel that both clients watch, and another that shows only in their lists. */
export type Scene = { channelId: string; otherId: string; both: string[] }

const GONE: ChatErrorCode[] = ['NOT_FOUND']
const LEFT: ChatErrorCode[] = ['FORBIDDEN', 'NOT_FOUND']
/** The codes that may refuse an action, and the earlier action that causes the refusal. */
const refusals: Partial<Record<Action, { after: Action; codes: ChatErrorCode[] }>> = {
  reply: { after: 'delete', codes: GONE },
  edit: { after: 'delete', codes: GONE },
  delete: { after: 'delete', codes: GONE },
  react: { after: 'delete', codes: GONE },
  unreact: { after: 'delete', codes: GONE },
  pin: { after: 'delete', codes: GONE },
  unpin: { after: 'delete', codes: GONE },
  read: { after: 'delete', codes: GONE },
  addOrRemove: { after: 'addOrRemove', codes: GONE },
  sendElsewhere: { after: 'addOrLeaveElsewhere', codes: LEFT },
  readElsewhere: { after: 'addOrLeaveElsewhere', codes: LEFT },
  addOrLeaveElsewhere: { after: 'addOrLeaveElsewhere', codes: LEFT },
  changeSettings: { after: 'addOrLeaveElsewhere', codes: LEFT },
}

/** The code of a refusal that the history explains. Any other is an error. */
export function expectedCode(error: unknown, { action, by }: Step, history: Step[]) {
  if (!isChatError(error)) throw error
  const { after, codes } = refusals[action] ?? {}
  const wasBefore = history.some((step) => step.action === after)
  const wasOffline = history.some(
    (step) => step.by === by && (step.action === 'cut' || step.action === 'reset'),
  )
  const isExplained =
    (wasBefore && codes?.includes(error.code)) || (wasOffline && error.code === 'NETWORK_ERROR')
  if (!isExplained) throw new Error(`${action} was refused`, { cause: error })
  return error.code
}

export type Client = { chat: ChatClient; proxy: Network }
type ActionContext = Scene &
  Client & {
    user: User
    room: Room
    /** A message that the room shows. */
    id: string
    emoji: string
    pick: number
  }
const perform: Record<Action, (context: ActionContext) => unknown> = {
  send: ({ room, pick }) => room.send({ text: `${pick}` }).sent,
  reply: ({ room, id, pick }) => room.send({ text: `reply ${pick}`, parentId: id }).sent,
  edit: ({ room, id, pick }) => room.edit(id, { text: `edited ${pick}` }),
  delete: ({ room, id }) => room.delete(id),
  react: ({ room, id, emoji }) => room.react(id, emoji),
  unreact: ({ room, id, emoji }) => room.unreact(id, emoji),
  pin: ({ room, id }) => room.pin(id),
  unpin: ({ room, id }) => room.unpin(id),
  read: ({ room, id, pick }) => room.markRead(pick % 2 ? id : undefined),
  // Only the owner may remove someone.
  addOrRemove: ({ user, channelId, both, pick }) =>
    pick % 2 || user.id !== both[0]
      ? user.members.add({ channelId, userIds: ['cem', 'dora'] })
      : user.members.remove({ channelId, userId: 'cem' }),
  sendElsewhere: ({ user, otherId, pick }) =>
    user.messages.send({ channelId: otherId, text: `elsewhere ${pick}` }),
  readElsewhere: ({ user, otherId }) => user.reads.mark({ channelId: otherId }),
  addOrLeaveElsewhere: ({ user, otherId, both, pick }) =>
    pick % 2
      ? user.members.leave({ channelId: otherId })
      : user.members.add({ channelId: otherId, userIds: both }),
  changeSettings: ({ user, channelId, otherId, pick }) =>
    user.channels.updateSettings({
      channelId: pick % 2 ? channelId : otherId,
      starred: pick % 3 === 0,
      muted: pick % 5 === 0,
    }),
  cut: ({ proxy }) => proxy.cut(),
  mend: ({ proxy }) => proxy.mend(),
  reset: ({ proxy }) => proxy.reset(),
  slow: ({ proxy, pick }) => proxy.delay(pick % 40),
  wait: ({ user, channelId }) => user.channels.get({ channelId }),
}

/** Only the author may do this to a message. */
const isForAuthors = (action: Action) => action === 'edit' || action === 'delete'
/** Takes a step as this user. */
export async function take({ action, pick }: Step, scene: Scene & Client & { user: User }) {
  const room = scene.chat.channel(scene.channelId)
  const isUsable = ({ status, userId }: ChatMessage) =>
    status === 'sent' && (!isForAuthors(action) || userId === scene.user.id)
  const messages = room.messages.getSnapshot().items.filter(isUsable)
  const { id = '' } = messages[pick % messages.length] ?? {}
  if (id === '' && refusals[action]?.after === 'delete') return
  const emoji = emojiOf({ pick })
  await perform[action]({ ...scene, room, id, emoji, pick })
}
