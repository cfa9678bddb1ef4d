import { type ChatClientOptions, createChatClient, type UserEvents } from '@parley/client'
// Loaded up front: a client whose clock stands still would wait for this module.
import '@parley/client/internal/room/own-calls'
import { onTestFinished } from 'vitest'
import { answerOf, type ScriptedData } from './answers.ts'
import { createChannel, userOf } from './channel.ts'
import { OnlineUsers } from './online.ts'
import { createRealtime } from './socket.ts'

const ME = 'me'
type Gate = { pattern: RegExp; onAsked: () => void; released: Promise<Response | undefined> }

/**
 * A chat client before a server in memory. Answers are made when the request comes, and can be held
 * back and released by hand: each order of answers and events can be tried, without a network.
 */
export function scriptedChat(options: Partial<ChatClientOptions> = {}) {
  const realtime = createRealtime()
  const data: ScriptedData = {
    me: ME,
    channels: new Map(),
    online: new OnlineUsers(),
    total: 0,
    snapshot: 0,
    settingsVersion: 0,
  }
  const requests: string[] = []
  const gates: Gate[] = []
  const bodies = new Map<string, object>()
  let refusal: { pattern: RegExp; answer: (body: object) => Response | undefined } | undefined
  let minted = 0

  const scriptedFetch = async (url: string, { method = 'GET', body = '{}' }: RequestInit = {}) => {
    const request = `${method} ${url.slice('http://chat'.length)}`
    requests.push(request)
    bodies.set(request, JSON.parse(String(body)))
    if (realtime.network.isCut) throw new TypeError('the network is cut')
    const given = JSON.parse(String(body))
    const refused = refusal?.pattern.test(request) ? refusal.answer(given) : undefined
    const answer = refused ?? Response.json(answerOf(data, { request, body: given }))
    const gate = gates.find(({ pattern }) => pattern.test(request))
    if (!gate) return answer
    gates.splice(gates.indexOf(gate), 1)
    gate.onAsked()
    return (await gate.released) ?? answer
  }
  const scripted: ChatClientOptions = {
    url: 'http://chat',
    token: () => {
      minted += 1
      return {
        token: `token ${minted}`,
        wsToken: `socket ${minted}`,
        user: userOf(ME),
        expiresIn: 86_400,
        appId: 'app',
        wsUrl: 'ws://chat',
      }
    },
    fetch: scriptedFetch as typeof fetch, // the client passes strings
    webSocket: realtime.webSocket,
  }
  const chat = createChatClient({ ...scripted, ...options })
  onTestFinished(() => chat.disconnect())

  return {
    chat,
    /** For other clients of the same user. */
    scripted,
    ...realtime,
    data,
    requests,
    /** How many tokens the provider was asked for. */
    minted: () => minted,
    /** The number of requests so far that match. */
    count: (pattern: RegExp) => requests.filter((request) => pattern.test(request)).length,
    /** A new channel of the user. */
    channel: (id: string, memberIds = [ME, 'ana']) => {
      const topic = `chat:app:${id}`
      const channel = createChannel(id, {
        me: ME,
        memberIds,
        publish: (envelope, offset) => realtime.publish(topic, envelope, offset),
      })
      data.channels.set(id, channel)
      return channel
    },
    /** An event of the user's own topic. A total without a version has that of this moment. */
    emit: <Type extends keyof UserEvents>(type: Type, payload: UserEvents[Type]) => {
      const isTotal = type === 'channel.total_unread_changed'
      if (isTotal) data.snapshot += 1
      const version = isTotal && { version: data.snapshot }
      realtime.publish(`user:app:${ME}`, { type, payload: { ...version, ...payload } })
    },
    /** The user's unread count of a channel, which changes, with its event. */
    emitUnread: (channelId: string, count: number) => {
      const own = data.channels.get(channelId)?.own
      if (!own) throw new Error(`there is no channel ${channelId}`)
      own.unreadCount = count
      const payload = { channelId, count, version: own.unreadVersion }
      realtime.publish(`user:app:${ME}`, { type: 'channel.unread_changed', payload })
    },
    /** The user's settings of a channel, which change, with their event. */
    emitSettings: (channelId: string, settings: { starred: boolean; muted: boolean }) => {
      data.settingsVersion += 1
      Object.assign(data.channels.get(channelId)?.own ?? {}, settings)
      const event = { type: 'channel.settings_changed', payload: { channelId, ...settings } }
      realtime.publish(`user:app:${ME}`, event, data.settingsVersion)
    },
    /** The last body of each request. */
    bodies,
    /** Holds the answer to the next request that matches. */
    hold: (pattern: RegExp) => {
      let onAsked = () => {}
      let release = (_instead?: Response) => {}
      const asked = new Promise<void>((resolve) => {
        onAsked = resolve
      })
      const released = new Promise<Response | undefined>((resolve) => {
        release = resolve
      })
      gates.push({ pattern, onAsked, released })
      return { asked, release: (instead?: Response) => release(instead) }
    },
    /** Requests that match are refused; without a pattern none is. */
    refuseRequests: (pattern?: RegExp, { status = 500, code = 'INTERNAL_ERROR' } = {}) => {
      const body = { error: { code, message: 'refused' } }
      refusal = pattern && { pattern, answer: () => Response.json(body, { status }) }
    },
    /** Requests that match get this answer, if it is one, and do not reach the server then. */
    intercept: (pattern: RegExp, answer: (body: object) => Response | undefined) => {
      refusal = { pattern, answer }
    },
  }
}
export type ScriptedChat = ReturnType<typeof scriptedChat>

/** Resolves when everything that needs no timer has happened. */
export const quiet = async () => {
  for (let turn = 0; turn < 5; turn++) await new Promise(setImmediate)
}
