import { probeOf } from './app.ts'
import type { History, SentMessage } from './history.ts'
import type { Probe } from './serving.ts'

type ProbesOptions = {
  history: History
  /** The node's address, and its place among the nodes. */
  node: { url: string; index: number }
  token: string
  channelId: string
}

/**
 * Calls that need the node's database: it reads, and it sends one message, always the same, which
 * must be there once like any other.
 */
export function probesOf({ history, node: { url, index }, token, channelId }: ProbesOptions) {
  const userId = probeOf(index)
  const number = history.messages.length
  const text = `probe ${number}`
  const sent: SentMessage = {
    clientId: `${userId}-${number}`,
    channelId,
    userId,
    acknowledged: [],
    parentId: undefined,
    text,
    isDeleted: false,
    isPinned: false,
    isSilent: true,
    isPushed: false,
    isRefused: false,
  }
  history.messages.push(sent)
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  const read: Probe = async (signal) => {
    const response = await fetch(`${url}/api/channels/unread-count`, { headers, signal })
    await response.text()
    return response.status
  }
  const send: Probe = async (signal) => {
    const response = await fetch(`${url}/api/channels/${channelId}/messages`, {
      method: 'POST',
      headers,
      body: JSON.stringify({ clientId: sent.clientId, text, silent: true }),
      signal,
    })
    const body = await response.text()
    if (response.ok) sent.acknowledged.push(JSON.parse(body))
    return response.status
  }
  return { read, send }
}
