import { setTimeout as delay } from 'node:timers/promises'
import { createChatServer } from '@parley/client/server'

/** The settings of a bot, in its environment. */
export type BotSettings = {
  BOT_URL: string
  BOT_KEY: string
  BOT_CHANNEL: string
  BOT_CLIENT_ID: string
  /** The text that it writes. */
  BOT_TEXT: string
}
/** A line that it prints. */
export type BotLine = {
  /** How many characters of the text are stored. */
  stored?: number
  hasEnded?: boolean
  failed?: string
}

const LONGEST_PART = 25
const PAUSE_MS = 30

/** A bot in a process of its own, which can be killed. It writes one message, and then ends. */
async function run({ BOT_URL, BOT_KEY, BOT_CHANNEL, BOT_CLIENT_ID, BOT_TEXT }: BotSettings) {
  const say = (line: BotLine) => process.stdout.write(`${JSON.stringify(line)}\n`)
  const bot = createChatServer({ url: BOT_URL, apiKey: BOT_KEY }).as('bot')
  const out = bot.stream(BOT_CHANNEL, { clientId: BOT_CLIENT_ID })
  const failed = (error: Error) => void say({ failed: error.message })
  for (let length = 0; length < BOT_TEXT.length; ) {
    const part = BOT_TEXT.slice(length, length + Math.ceil(Math.random() * LONGEST_PART))
    length += part.length
    const stored = length
    // Half of a surrogate pair waits for the other half.
    const isWhole = part.isWellFormed()
    void out.write(part).then(() => say(isWhole ? { stored } : {}), failed)
    await delay(PAUSE_MS)
  }
  await out.end().then(() => say({ hasEnded: true }), failed)
}

await run(process.env as BotSettings) // the rig sets them
