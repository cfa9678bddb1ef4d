import { readFile } from 'node:fs/promises'
import { setTimeout } from 'node:timers/promises'
import { createChatClient } from '@parley/client'
import { createChatServer } from '@parley/client/server'

type BotOptions = { url: string; apiKey: string; userId: string; file: string; pauseMs?: number }

/**
 * A bot that answers direct messages, and messages that mention it, bit by bit. It receives what is
 * sent while it is connected; a bot that must answer everything takes webhooks, as `../backend`.
 */
export async function startBot({ url, apiKey, userId, file, pauseMs = 40 }: BotOptions) {
  const server = createChatServer({ url, apiKey })
  const bot = server.as(userId)

  /** Where the model goes: yields the answer to a text in parts. This one reads a file aloud. */
  async function* answer(_question: string) {
    for (const word of (await readFile(file, 'utf8')).split(/(?<=\s)/)) {
      yield word
      await setTimeout(pauseMs)
    }
  }

  const reply = async (channelId: string, question: string) => {
    const out = bot.stream(channelId)
    try {
      for await (const part of answer(question)) await out.write(part)
    } finally {
      await out.end()
    }
  }

  const token = () => server.tokens.create({ userId, name: 'Reader' })
  await token() // fails at once for what a client would try again for ever
  const chat = createChatClient({ url, token })
  chat.channels().subscribe(() => {}) // keeps the events of its channels coming
  chat.on('message.new', async ({ payload: { channelId, message } }) => {
    if (message.userId === userId || message.type === 'system') return
    try {
      const { type } = await server.channels.get({ channelId })
      const isAsked = type === 'messaging' || message.mentions.includes(userId)
      if (isAsked) await reply(channelId, message.text)
    } catch (error) {
      console.error('no answer', error)
    }
  })
  await chat.connect()
  return () => chat.disconnect()
}
