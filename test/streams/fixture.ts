import type { Envelope, Message } from '@parley/contract'
import { beforeAll } from 'vitest'
import type { TopicListener } from '../support/realtime.ts'
import { type Growth, splicedTexts } from '../support/splice.ts'
import { type User, useWorld } from '../support/world.ts'

/** Times at which nothing happens during a test, unless it asks for it. */
export const never = 3_600_000
type Times = Parameters<typeof useWorld>[0]

/** A world with a bot, whose messages grow, and ana. */
export function useStreams(options: Times = {}) {
  const world = useWorld(options)
  let users: { ana: User; bot: User }
  beforeAll(async () => {
    const [ana, bot] = await world().users('ana', 'bot')
    users = { ana, bot }
  })
  const newChannel = async () =>
    (await users.ana.channels.create({ type: 'group', name: 'Talk', memberIds: ['bot'] })).id
  /** A message of the bot's that grows, and what appends to it. */
  const begin = async (given: { channelId?: string; text?: string; silent?: boolean } = {}) => {
    const channelId = given.channelId ?? (await newChannel())
    const message = await users.bot.messages.send({
      text: '',
      streaming: true,
      ...given,
      channelId,
    })
    const ref = { channelId, messageId: message.id }
    const append = (at: number, text: string, by: User = users.bot) =>
      by.streams.append({ ...ref, at, text })
    const get = (): Promise<Message> => users.ana.messages.get(ref)
    const finish = (by: User = users.bot) => by.streams.finish(ref)
    return { ...ref, message, append, get, finish, ref }
  }
  return { world, users: () => users, newChannel, begin }
}

/** The text that a listener puts together of what it received, by the documented rule. */
export const spliced = ({ received }: TopicListener, messageId: string) =>
  splicedTexts(received.flatMap(({ envelope }) => growthIn(envelope, messageId) ?? [])).at(-1)

function growthIn({ type, payload }: Envelope, id: string): Growth | undefined {
  if (type === 'message.delta' && payload.messageId === id)
    return { at: payload.at, text: payload.text, hasEnded: false }
  const isWhole = type === 'message.new' || type === 'message.updated'
  if (!isWhole || payload.message.id !== id) return undefined
  const { text, streaming } = payload.message
  return { at: undefined, text, hasEnded: streaming === false }
}
