import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { setTimeout as delay } from 'node:timers/promises'
import { createApi } from '@parley/client/api'
import type { BotLine, BotSettings } from './bot.ts'
import { recordingFetch, untilKnown } from './calls.ts'
import type { Stream } from './history.ts'
import type { Node, Rig } from './rig.ts'

const WORDS = 400
const START_MS = 30_000

/** Kills a bot in the middle of a message, or the node that it talks to, or both at once. */
export async function killBot(rig: Rig) {
  const { random } = rig
  const victims = random.pick([['bot'], ['node'], ['bot', 'node']])
  const node = random.pick(rig.nodes)
  const bot = await startBot(rig, node)
  await bot.untilStored(random.between(20, 1_000))
  const isNodeKilled = victims.includes('node')
  const fault = {
    name: `kill -9 of the ${victims.join(' and the ')} amid a message`,
    node: isNodeKilled ? node.index : undefined,
    breaksAnswers: isNodeKilled,
  }
  await rig.fault(fault, async () => {
    const killNode = async () => {
      await node.process.end('SIGKILL')
      await delay(random.between(100, 1_500))
      await node.start()
    }
    await Promise.all([victims.includes('bot') && bot.kill(), isNodeKilled && killNode()])
  })
  await bot.ended
}

async function startBot(rig: Rig, node: Node) {
  const channel = rig.random.pick(rig.channels)
  await join(rig, channel.id)
  const { streams } = rig.history
  const stream: Stream = {
    clientId: `stream-${streams.length}`,
    channelId: channel.id,
    userId: 'bot',
    text: Array.from({ length: WORDS }, (_, n) => `word ${n} 🙂 `).join(''),
    stored: 0,
    storedAt: rig.now(),
    hasEnded: false,
    quietAt: Number.POSITIVE_INFINITY,
  }
  streams.push(stream)
  const settings: BotSettings = {
    BOT_URL: node.url,
    BOT_KEY: rig.apiKey,
    BOT_CHANNEL: channel.id,
    BOT_CLIENT_ID: stream.clientId,
    BOT_TEXT: stream.text,
  }
  const child = spawn(process.execPath, [rig.programOf('bot')], {
    env: { PATH: process.env.PATH, ...settings },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = once(child, 'exit').then(() => {
    stream.quietAt = rig.now()
  })
  follow(child, rig, stream)
  return {
    ended,
    /** Resolves when this many characters of its text are stored, or when it has ended. */
    untilStored: async (length: number) => {
      const end = rig.now() + START_MS
      const isDue = () => stream.stored >= length || stream.quietAt <= rig.now()
      while (!isDue() && rig.now() < end) await delay(20)
    },
    kill: async () => {
      child.kill('SIGKILL')
      await ended
    },
  }
}

function follow({ stdout }: ChildProcess, rig: Rig, stream: Stream) {
  if (!stdout) return
  createInterface({ input: stdout }).on('line', (line) => {
    const { stored, hasEnded }: BotLine = JSON.parse(line)
    if (stored !== undefined) Object.assign(stream, { stored, storedAt: rig.now() })
    if (hasEnded) stream.hasEnded = true
  })
}

/** The bot is a user, and a member of the channel. */
async function join(rig: Rig, channelId: string) {
  const fetch = recordingFetch(rig, { random: rig.random.fork() })
  const backend = createApi({ url: 'http://any-node', apiKey: rig.apiKey, fetch })
  const users = [{ id: 'bot' }]
  await untilKnown(rig, { name: 'make a bot', call: () => backend.users.sync({ users }) })
  const call = () => backend.members.add({ channelId, userIds: ['bot'] })
  await untilKnown(rig, { name: 'add a bot', call })
}
