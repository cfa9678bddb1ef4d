import { liveChatOf, ready, until } from './chat.ts'
import type { World } from './world.ts'

/** The calls of a client, without those that the check itself makes. */
export function countCalls() {
  const calls: string[] = []
  const statuses: number[] = []
  const counting = (async (url, options) => {
    calls.push(`${options?.method} ${new URL(String(url)).pathname}`)
    const response = await fetch(url, options)
    statuses.push(response.status)
    return response
  }) as typeof fetch
  return { calls, statuses, fetch: counting }
}

/** A client that shows the list, a room with its members and read positions, and reads all. */
export async function showing(world: World, userId: string, channelId: string) {
  const { calls, statuses, fetch } = countCalls()
  const { chat, proxy } = await liveChatOf(world, userId, { fetch })
  const [room, list] = [chat.channel(channelId), chat.channels()]
  room.watch()
  for (const store of [list, room.members, room.reads]) store.subscribe(() => {})
  let seen = 0
  room.messages.subscribe(() => {
    const { length } = room.messages.getSnapshot().items
    if (length === seen) return
    seen = length
    room.markRead().catch(() => {})
  })
  await Promise.all([until(room.messages, ready), until(room.members, ready), until(list, ready)])
  return { userId, chat, proxy, calls, statuses, room, list }
}

/** A channel of `count` users. */
export async function createTalk(world: World, prefix: string, count: number) {
  const ids = Array.from({ length: count }, (_, index) => `${prefix}${index}`)
  const [owner] = await world.users(...ids)
  if (!owner) throw new Error('a channel has an owner')
  const create = { type: 'group', name: 'Talk', memberIds: ids.slice(1) } as const
  const { id: channelId } = await owner.channels.create(create)
  return { ids, owner, channelId }
}
