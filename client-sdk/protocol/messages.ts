/** The JSON messages of the protocol, as far as this client uses it: see docs/realtime.md. */

/** A position in a topic's history. */
export type TopicPosition = { epoch: string; offset: number }
/** An event of a topic. Ephemeral ones have no offset. */
export type Publication = { data: unknown; offset?: number }

/** Sent with an id, except for a pong, which is empty. */
export type Command = {
  id?: number
  connect?: { token: string; name: string }
  refresh?: { token: string }
  subscribe?: { channel: string; recover?: boolean } & Partial<TopicPosition>
  unsubscribe?: { channel: string }
  ping?: Record<string, never>
}

/** Whether and when the token expires; `ttl` is in seconds. */
export type Expiry = { expires?: boolean; ttl?: number }
/** `ping` is the interval of the server's pings, in seconds; `pong` if it expects answers. */
export type ConnectResult = Expiry & { ping?: number; pong?: boolean }
/** Either the publications after the requested position, or the newest position. */
export type SubscribeResult = Partial<TopicPosition> & {
  recoverable?: boolean
  was_recovering?: boolean
  recovered?: boolean
  publications?: Publication[]
}
export type ProtocolError = { code: number; message?: string; temporary?: boolean }
/** A message that the server sends without being asked. */
export type Push = {
  channel?: string
  pub?: Publication
  unsubscribe?: { code: number }
  disconnect?: { code: number; reason?: string }
}
/** The reply to the command with this id, a push, or a ping, which is empty. */
export type Reply = {
  id?: number
  error?: ProtocolError
  connect?: ConnectResult
  refresh?: Expiry
  subscribe?: SubscribeResult
  push?: Push
}

/** The messages of a frame, one a line. Throws for anything else, such as a proxy's page. */
export const parseFrame = (frame: string): Reply[] =>
  frame
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => {
      const message: unknown = JSON.parse(line)
      if (typeof message !== 'object' || message === null) throw new Error('expected an object')
      return message
    })

/** Whether a closed connection would be closed again if the client only repeated its connect. */
export const isFinalCode = (code: number) =>
  code === FRAME_TOO_LARGE || (code >= 3500 && code < 4000) || (code >= 4500 && code < 5000)

/** The WebSocket close code for a frame that is larger than the server accepts. */
const FRAME_TOO_LARGE = 1009
