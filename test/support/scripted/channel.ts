import type { Channel, ChannelEvents, Member, Message, Reaction, UserSummary } from '@parley/client'

/** An event as it goes over the wire. */
type Envelope = {
  [Type in keyof ChannelEvents]: { type: Type; payload: ChannelEvents[Type] }
}[keyof ChannelEvents]
/** Publishes an event; with an offset if it is durable. */
export type Publish = (envelope: Envelope, offset?: number) => void
type PinnedBy = { pinnedBy: string; pinnedAt: string }

const START = Date.UTC(2026, 0, 1)
/** The time of a seq or rev: everything happens a second after what was before. */
export const timeOf = (count: number) => new Date(START + count * 1_000).toISOString()
export const userOf = (id: string): UserSummary => ({ id, name: id.toUpperCase(), image: null })

/** A channel in memory. It changes and publishes its events as the server does. */
export function createChannel(
  id: string,
  { me, memberIds, publish }: { me: string; memberIds: string[]; publish: Publish },
) {
  const messages: Message[] = []
  const members = memberIds.map(
    (userId): Member => ({
      userId,
      user: userOf(userId),
      role: 'member',
      custom: {},
      joinedAt: timeOf(0),
    }),
  )
  const reads = new Map(memberIds.map((userId) => [userId, 0]))
  const pins = new Map<string, PinnedBy>()
  let [unreadCount, unreadVersion] = [0, 0]
  const own = {
    name: id,
    starred: false,
    muted: false,
    get unreadCount() {
      return unreadCount
    },
    /** Raises the version, so that earlier counts are older. */
    set unreadCount(count) {
      unreadCount = count
      unreadVersion += 1
    },
    get unreadVersion() {
      return unreadVersion
    },
  }
  let rev = 0

  const find = (messageId: string) => {
    const message = messages.find((each) => each.id === messageId)
    if (!message) throw new Error(`there is no message ${messageId}`)
    return message
  }
  /** Events do not contain whose reaction it is. */
  const asInEvents = (message: Message): Message => ({
    ...message,
    reactions: message.reactions.map((reaction) => ({ ...reaction, own: false })),
  })
  const change = (messageId: string, fields: Partial<Message>) => {
    rev += 1
    return Object.assign(find(messageId), fields, { rev, updatedAt: timeOf(rev) })
  }
  const update = (messageId: string, fields: Partial<Message>, pin?: PinnedBy) => {
    const message = asInEvents(change(messageId, fields))
    publish({ type: 'message.updated', payload: { channelId: id, message, pin } }, rev)
    return message
  }
  const react = (messageId: string, emoji: string, { by, isOn }: { by: string; isOn: boolean }) => {
    const others = find(messageId).reactions.filter(({ type }) => type !== emoji)
    const known = find(messageId).reactions.find(({ type }) => type === emoji)
    const users = (known?.users ?? []).filter((user) => user.id !== by)
    const now = isOn ? [...users, userOf(by)] : users
    const isOwn = now.some((user) => user.id === me)
    const reaction: Reaction = { type: emoji, count: now.length, own: isOwn, users: now }
    const message = change(messageId, {
      reactions: now.length > 0 ? [...others, reaction] : others,
    })
    const type = isOn ? ('reaction.added' as const) : ('reaction.removed' as const)
    const { reactions } = asInEvents(message)
    const payload = {
      channelId: id,
      messageId,
      reaction: { type: emoji, userId: by },
      user: userOf(by),
      reactions,
    }
    publish({ type, payload }, rev)
  }

  return {
    id,
    own,
    messages,
    members,
    reads,
    pins,
    find,
    get rev() {
      return rev
    },
    record: (): Channel => ({
      id,
      cid: `group:${id}`,
      type: 'group',
      image: null,
      description: null,
      workspaceId: null,
      createdBy: me,
      memberCount: members.length,
      lastMessage: messages.filter(({ deletedAt }) => deletedAt === null).at(-1) ?? null,
      lastReadSeq: reads.get(me) ?? 0,
      role: 'member',
      rev,
      frozen: false,
      custom: {},
      createdAt: timeOf(0),
      updatedAt: timeOf(0),
      ...own,
    }),
    send: (text: string, { by = 'ana', parentId = '', clientId = '', as = '' } = {}): Message => {
      rev += 1
      const seq = messages.length + 1
      const message: Message = {
        id: as || `${id}-${String(seq).padStart(4, '0')}`,
        channelId: id,
        userId: by,
        user: userOf(by),
        text,
        seq,
        rev,
        reactions: [],
        mentions: [],
        attachments: [],
        parentId: parentId || null,
        type: 'regular',
        replyCount: 0,
        pinned: false,
        clientId: clientId || null,
        createdAt: timeOf(seq),
        updatedAt: timeOf(seq),
        editedAt: null,
        deletedAt: null,
      }
      messages.push(message)
      if (reads.get(by) === seq - 1) reads.set(by, seq)
      const root = parentId ? find(parentId) : undefined
      if (root) Object.assign(root, { replyCount: root.replyCount + 1, rev })
      const parent = root && { id: root.id, replyCount: root.replyCount }
      const authorLastReadSeq = reads.get(by) ?? 0
      const payload = { channelId: id, message, parent, authorLastReadSeq }
      publish({ type: 'message.new', payload }, rev)
      return message
    },
    edit: (messageId: string, text: string) => update(messageId, { text, editedAt: timeOf(rev) }),
    delete: (messageId: string) => {
      const deletedAt = timeOf(rev + 1)
      const nothing = { text: '', attachments: [], mentions: [], reactions: [], pinned: false }
      const { seq, parentId } = change(messageId, { ...nothing, deletedAt })
      pins.delete(messageId)
      const root = parentId ? find(parentId) : undefined
      if (root) Object.assign(root, { replyCount: root.replyCount - 1, rev })
      const parent = root && { id: root.id, replyCount: root.replyCount }
      const payload = { channelId: id, messageId, seq, deletedAt, parent }
      publish({ type: 'message.deleted', payload }, rev)
    },
    pin: (messageId: string, by = 'ana') => {
      const pin = { pinnedBy: by, pinnedAt: timeOf(rev + 1) }
      pins.set(messageId, pin)
      update(messageId, { pinned: true }, pin)
    },
    unpin: (messageId: string) => {
      pins.delete(messageId)
      update(messageId, { pinned: false })
    },
    react: (messageId: string, emoji: string, by = 'ana') =>
      react(messageId, emoji, { by, isOn: true }),
    unreact: (messageId: string, emoji: string, by = 'ana') =>
      react(messageId, emoji, { by, isOn: false }),
    join: (userId: string) => {
      rev += 1
      const member = { userId, user: userOf(userId), role: 'member' as const, custom: {} }
      members.push({ ...member, joinedAt: timeOf(rev) })
      reads.set(userId, 0)
      const payload = { channelId: id, ...member, memberCount: members.length }
      publish({ type: 'channel.member_joined', payload }, rev)
    },
    leave: (userId: string) => {
      rev += 1
      members.splice(
        members.findIndex((member) => member.userId === userId),
        1,
      )
      reads.delete(userId)
      const member = { userId, user: userOf(userId), role: 'member' as const }
      const payload = { channelId: id, ...member, memberCount: members.length }
      publish({ type: 'channel.member_left', payload }, rev)
    },
    read: (userId: string, lastReadSeq = messages.length) => {
      reads.set(userId, lastReadSeq)
      const lastReadMessageId = messages[lastReadSeq - 1]?.id ?? null
      const position = { lastReadSeq, lastReadMessageId, readAt: timeOf(rev) }
      publish({ type: 'read.updated', payload: { channelId: id, userId, ...position } })
    },
    type: (userId: string, isTyping = true) => {
      const payload = { channelId: id, userId, user: userOf(userId) }
      publish({ type: isTyping ? 'typing.start' : 'typing.stop', payload })
    },
  }
}
export type ScriptedChannel = ReturnType<typeof createChannel>
