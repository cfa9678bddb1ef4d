import { setTimeout as delay } from 'node:timers/promises'
import { type Api, createApi } from '@parley/client/api'
import { startBackend } from './backend.ts'
import { recordingFetch, untilKnown } from './calls.ts'
import { DATABASE_CLOCK_SET, type SentMessage } from './history.ts'
import type { Random } from './random.ts'
import type { Rig } from './rig.ts'

type Sender = { rig: Rig; userId: string; api: Api; random: Random; own: Own[]; sent: number }
/** A message that its sender knows to exist. */
type Own = { id: string; sent: SentMessage }
const PAUSE_MS = 20
const SILENT = 0.08
/** How many messages each member pins, at most. */
const PINNED = 10
const EMOJI = ['👍', '🎉', '🙂']

/**
 * Lets every member write, one call after the other, each to any node; the app's backend as well. A
 * call with an unknown outcome is repeated, at any node, until the outcome is known. Ends with
 * `signal`.
 */
export const startSenders = (rig: Rig, signal: AbortSignal) =>
  Promise.all([
    startBackend(rig, signal),
    ...rig.history.members.map(async (userId) => {
      const random = rig.random.fork()
      const api = createApi({
        url: 'http://any-node',
        token: rig.tokenOf(userId),
        fetch: recordingFetch(rig, { random, userId }),
      })
      const sender: Sender = { rig, userId, api, random, own: [], sent: 0 }
      while (!signal.aborted) {
        await act(sender)
        await delay(random.between(PAUSE_MS, 3 * PAUSE_MS))
      }
    }),
  ])

/** One call, chosen by chance: most are sends. */
async function act(sender: Sender) {
  const { rig, random, own } = sender
  const choice = random.fraction()
  const mine = own.filter(({ sent }) => !sent.isDeleted).at(-random.between(1, 10))
  if (choice < 0.62 || !mine) return send(sender, { channelId: random.pick(rig.channels).id })
  if (choice < 0.68) return send(sender, { channelId: mine.sent.channelId, parent: mine })
  if (choice < 0.75) return edit(sender, mine)
  if (choice < 0.79) return deleteMessage(sender, mine)
  if (choice < 0.83) return pin(sender, pinnedTooLong(own) ?? mine)
  if (choice < 0.93) return react(sender)
  if (choice < 0.98) return read(sender)
  return changeSettings(sender)
}

async function send(
  sender: Sender,
  { channelId, parent }: { channelId: string; parent?: Own | undefined },
) {
  const { rig, userId, api, random } = sender
  const root = parent?.sent.parentId
  const text = `message ${++sender.sent} of ${userId}`
  const isSilent = random.fraction() < SILENT
  const sent: SentMessage = {
    clientId: `${userId}-${sender.sent}`,
    channelId,
    userId,
    acknowledged: [],
    parentId: root ?? parent?.sent.clientId,
    text,
    isDeleted: false,
    isPinned: false,
    isSilent,
    isPushed: !isSilent,
    isRefused: false,
  }
  rig.history.messages.push(sent)
  const given = {
    channelId,
    text,
    clientId: sent.clientId,
    ...(parent && { parentId: parent.id }),
    ...(isSilent && { silent: true }),
  }
  const call = async () => {
    const { id, seq, createdAt } = await api.messages.send(given)
    sent.acknowledged.push({ id, seq, createdAt })
  }
  const isSent = await untilKnown(rig, {
    name: 'send',
    call,
    isExpected: ({ code, isAmbiguous, startedAt }) => {
      const isFrozen = code === 'FORBIDDEN' && wasFrozen(rig, { channelId, since: startedAt })
      sent.isRefused = isFrozen && !isAmbiguous
      return isFrozen
    },
  })
  if (!isSent) return
  // Now and then a caller repeats what was answered: the answer must be the same.
  if (random.fraction() < 0.02) await untilKnown(rig, { name: 'send', call })
  const [first] = sent.acknowledged
  if (first) sender.own.push({ id: first.id, sent })
}

const wasFrozen = ({ history }: Rig, { channelId, since }: { channelId: string; since: number }) =>
  history.freezes.some((freeze) => freeze.channelId === channelId && freeze.to >= since)

async function edit({ rig, api }: Sender, { id, sent }: Own) {
  const text = `${sent.text}, edited`.slice(-200)
  const call = () => api.messages.edit({ channelId: sent.channelId, messageId: id, text })
  if (await untilKnown(rig, { name: 'edit', call })) sent.text = text
}

async function deleteMessage({ rig, api }: Sender, { id, sent }: Own) {
  sent.isDeleted = true
  const call = () => api.messages.delete({ channelId: sent.channelId, messageId: id })
  await untilKnown(rig, {
    name: 'delete',
    call,
    isExpected: ({ code, isAmbiguous }) => {
      const isTooOld = code === 'FORBIDDEN' && wasDatabaseClockSet(rig)
      sent.isDeleted = !isTooOld
      // A repeat finds that the first attempt has deleted it.
      return isTooOld || (code === 'NOT_FOUND' && isAmbiguous)
    },
  })
}

/** Whether the clock was set, which ages earlier messages: they may be too old to delete. */
const wasDatabaseClockSet = ({ history }: Rig) =>
  history.faults.some(({ name }) => name.startsWith(DATABASE_CLOCK_SET))

/** A channel has room for a limited number of pins, and the load goes on for hours. */
const pinnedTooLong = (own: Own[]) => {
  const pinned = own.filter(({ sent }) => sent.isPinned && !sent.isDeleted)
  return pinned.length >= PINNED ? pinned[0] : undefined
}

async function pin({ rig, api }: Sender, { id, sent }: Own) {
  const ref = { channelId: sent.channelId, messageId: id }
  const call = () => (sent.isPinned ? api.pins.unpin(ref) : api.pins.pin(ref))
  if (await untilKnown(rig, { name: 'pin', call })) sent.isPinned = !sent.isPinned
}

async function react({ rig, api, userId, random }: Sender) {
  const { messages, reactions } = rig.history
  const sent = messages.at(-random.between(1, 30))
  const [first] = sent?.acknowledged ?? []
  // Those that ask a node whether it serves do so among themselves.
  const isSeen = rig.channels.some(({ id }) => id === sent?.channelId)
  if (!sent || !first || sent.isDeleted || !isSeen) return
  const emoji = random.pick(EMOJI)
  const known = reactions.find(
    (one) => one.messageId === first.id && one.userId === userId && one.emoji === emoji,
  )
  const isThere = !known?.isThere
  const ref = { channelId: sent.channelId, messageId: first.id, emoji }
  const call = () => (isThere ? api.reactions.add(ref) : api.reactions.remove(ref))
  // Its author may delete it meanwhile.
  const isDone = await untilKnown(rig, {
    name: 'react',
    call,
    isExpected: ({ code }) => code === 'NOT_FOUND' && sent.isDeleted,
  })
  if (!isDone) return
  if (known) known.isThere = isThere
  else reactions.push({ messageId: first.id, userId, emoji, isThere })
}

async function read({ rig, api, userId, random }: Sender) {
  const { id: channelId } = random.pick(rig.channels)
  const call = async () => {
    const { lastReadSeq } = await api.reads.mark({ channelId })
    rig.history.reads.push({ channelId, userId, lastReadSeq })
  }
  await untilKnown(rig, { name: 'read', call })
}

async function changeSettings({ rig, api, random }: Sender) {
  const { id: channelId } = random.pick(rig.channels)
  const starred = random.fraction() < 0.5
  await untilKnown(rig, {
    name: 'change settings',
    call: () => api.channels.updateSettings({ channelId, starred }),
  })
}
