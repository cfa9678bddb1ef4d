import { serveReceiver } from '../support/receiver.ts'
import type { History } from './history.ts'

type Receiver = Awaited<ReturnType<typeof serveReceiver>>
type Answer = Parameters<Receiver['answerWith']>[0]

/**
 * The receiver of the app's webhook. A delivery counts once it was answered with success, by a
 * receiver that lived to do so.
 */
export async function serveHooks({ hooked }: Pick<History, 'hooked'>) {
  const accept: Answer = (response, { headers, type, data }) => {
    response.writeHead(204).end()
    hooked.push({ id: headers['webhook-id'] ?? '', type, ...placeOf(data) })
  }
  let server = await serveReceiver()
  const { host, url } = server
  server.answerWith(accept)
  return {
    host,
    url,
    accept,
    answerWith: (answer: Answer = accept) => server.answerWith(answer),
    /** Its connections break, and nothing listens until it is back. */
    kill: () => server.stop(),
    revive: async () => {
      server = await serveReceiver({ port: Number(new URL(url).port) })
      server.answerWith(accept)
    },
    end: () => server.stop(),
  }
}

type Data = Record<string, unknown>

/** Where an event belongs: the channel and its rev, or the user. */
function placeOf(data: Data) {
  const { userId, rev, channelId, message, channel } = data as Data & {
    message?: { channelId: string }
    channel?: { id: string }
  } // as the contract says
  return {
    channelId: String(channelId ?? message?.channelId ?? channel?.id),
    userId: typeof userId === 'string' ? userId : undefined,
    rev: typeof rev === 'number' ? rev : undefined,
  }
}
