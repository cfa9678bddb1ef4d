import { groupsOf } from '../groups.ts'
import type { Check, FoundMessage, History } from '../history.ts'

/** Texts, tombstones, pins and the silent flag match the last acknowledged changes. */
export const changesAsAcknowledged: Check = ({ messages, found }) => {
  const sent = new Map(messages.map((one) => [one.clientId, one]))
  return inEachListing(found, (listed) =>
    listed.flatMap((message) => {
      const expected = sent.get(message.clientId ?? '')
      if (!expected) return []
      const text = expected.isDeleted ? '' : expected.text
      const isPinned = expected.isPinned && !expected.isDeleted
      return [
        ...differences(message, 'isDeleted', expected.isDeleted),
        ...differences(message, 'text', text),
        ...differences(message, 'isPinned', isPinned),
        ...differences(message, 'isSilent', expected.isSilent),
      ]
    }),
  )
}

/** Reactions are as they were last acknowledged, and there are no others. */
export const reactionsAsAcknowledged: Check = ({ reactions, found }) => {
  const there = reactions.filter(({ isThere }) => isThere)
  const expected = groupsOf(there, ({ messageId }) => messageId)
  return inEachListing(found, (listed) =>
    listed.flatMap((message) => {
      const ofMessage = message.isDeleted ? [] : (expected.get(message.id) ?? [])
      const names = ofMessage.map(({ emoji, userId }) => `${emoji} ${userId}`).sort()
      const has = [...message.reactions].sort()
      return has.join() === names.join()
        ? []
        : [`${message.clientId} has the reactions [${has}] instead of [${names}]`]
    }),
  )
}

/** A message counts its replies, and each reply has the parent that it was sent to. */
export const countsOfReplies: Check = ({ messages, found }) => {
  const parents = new Map(messages.map(({ clientId, parentId }) => [clientId, parentId]))
  return inEachListing(found, (listed) => {
    const ids = new Map(listed.map(({ id, clientId }) => [id, clientId]))
    const alive = listed.filter(({ isDeleted }) => !isDeleted)
    const replies = groupsOf(alive, ({ parentId }) => parentId)
    return alive.flatMap((message) => {
      const parent = message.parentId === null ? undefined : ids.get(message.parentId)
      const count = replies.get(message.id)?.length ?? 0
      return [
        ...differences(message, 'replyCount', count),
        ...(parent === parents.get(message.clientId ?? '')
          ? []
          : [`${message.clientId} is a reply to ${parent}`]),
      ]
    })
  })
}

const differences = <Key extends keyof FoundMessage>(
  message: FoundMessage,
  key: Key,
  expected: FoundMessage[Key],
) =>
  message[key] === expected
    ? []
    : [`${message.clientId}: ${key} is ${message[key]} instead of ${expected}`]

const inEachListing = (
  { listings }: History['found'],
  check: (messages: FoundMessage[]) => string[],
) =>
  listings.flatMap(({ node, messages }) =>
    check(messages).map((violation) => `node ${node}: ${violation}`),
  )
