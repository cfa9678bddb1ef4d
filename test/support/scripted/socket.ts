const EPOCH = 'first'

type Publication = { data: unknown; offset?: number | undefined }
type Push = { channel: string; pub?: Publication; unsubscribe?: object }
type Command = {
  id?: number
  connect?: { token: string }
  subscribe?: { channel: string; recover?: boolean; epoch?: string; offset?: number }
  unsubscribe?: { channel: string }
  history?: object
}

/** The realtime side of a scripted server: sockets, topics, and the log of their events. */
export function createRealtime() {
  const sockets = new Set<ScriptedSocket>()
  const logs = new Map<string, Publication[]>()
  /** The topics whose next subscription cannot recover what was missed. */
  const lost = new Set<string>()
  const known = new Set<string>()
  const refused = new Set<string>()
  /** The topics that are refused for the moment. */
  const busy = new Set<string>()
  const network = { isCut: false, opened: 0, epoch: EPOCH, isHeld: false, refusesTokens: false }
  let held: (() => void)[] = []
  let heldReplies: (() => void)[] | undefined

  const logOf = (topic: string) => {
    const log = logs.get(topic) ?? []
    logs.set(topic, log)
    return log
  }
  const positionOf = (topic: string) => ({
    epoch: network.epoch,
    offset: logOf(topic).at(-1)?.offset ?? 0,
  })
  const subscribe = (
    socket: ScriptedSocket,
    { channel, recover = false, epoch = '', offset = 0 }: NonNullable<Command['subscribe']>,
  ) => {
    if (refused.has(channel)) return { error: { code: 103, message: 'permission denied' } }
    if (busy.has(channel)) return { error: { code: 100, message: 'busy', temporary: true } }
    socket.topics.add(channel)
    known.add(channel)
    const isLost = lost.delete(channel)
    const isRecovered = recover && epoch === network.epoch && !isLost
    const missed = logOf(channel).filter((event) => (event.offset ?? 0) > offset)
    return {
      subscribe: {
        recoverable: true,
        positioned: true,
        ...positionOf(channel),
        ...(recover ? { was_recovering: true } : {}),
        ...(isRecovered ? { recovered: true, publications: missed } : {}),
      },
    }
  }
  const replyTo = (socket: ScriptedSocket, command: Command) => {
    if (command.connect && network.refusesTokens)
      return { error: { code: 109, message: 'token expired' } }
    // Sends no pings: a client whose clock is put forward would miss them.
    if (command.connect) return { connect: { client: 'c', version: '' } }
    if (command.subscribe) return subscribe(socket, command.subscribe)
    if (command.unsubscribe) socket.topics.delete(command.unsubscribe.channel)
    return command.unsubscribe ? { unsubscribe: {} } : { history: positionOf('') }
  }

  /** A WebSocket in memory, as far as the client uses it. */
  class ScriptedSocket {
    readonly topics = new Set<string>()
    onopen = () => {}
    onmessage = (_message: { data: string }) => {}
    onclose = (_close: { code: number; reason: string }) => {}
    onerror = () => {}

    constructor() {
      network.opened += 1
      queueMicrotask(() => {
        if (network.isCut) return this.close()
        sockets.add(this)
        this.onopen()
      })
    }

    send(frame: string) {
      for (const line of frame.split('\n')) {
        const command = JSON.parse(line) as Command // the client's
        if (command.id === undefined) continue
        const reply = { id: command.id, ...replyTo(this, command) }
        const answer = () => this.deliver(reply)
        if (heldReplies) heldReplies.push(answer)
        else queueMicrotask(answer)
      }
    }

    deliver(message: object) {
      if (sockets.has(this)) this.onmessage({ data: JSON.stringify(message) })
    }

    close() {
      sockets.delete(this)
      queueMicrotask(() => this.onclose({ code: 1006, reason: 'closed' }))
    }
  }

  const push = (message: Push) => {
    for (const socket of sockets)
      if (socket.topics.has(message.channel)) socket.deliver({ push: message })
  }
  return {
    network,
    webSocket: ScriptedSocket as unknown as typeof globalThis.WebSocket, // as far as it is used
    /** The topics that open sockets are subscribed to. */
    topics: () => [...sockets].flatMap(({ topics }) => [...topics]).sort(),
    publish: (topic: string, data: unknown, offset?: number) => {
      const publication = JSON.parse(JSON.stringify({ data, offset })) as Publication // a copy
      if (offset !== undefined) logOf(topic).push(publication)
      const send = () => push({ channel: topic, pub: publication })
      if (network.isHeld) held.push(send)
      else send()
    },
    /** Events wait until the returned function is called. */
    holdEvents: () => {
      network.isHeld = true
      return () => {
        network.isHeld = false
        for (const send of held) send()
        held = []
      }
    },
    /** Tokens and topics are accepted once the returned function is called. */
    holdReplies: () => {
      heldReplies = []
      return () => {
        for (const answer of heldReplies ?? []) queueMicrotask(answer)
        heldReplies = undefined
      }
    },
    /** The user may not read these topics any more. */
    refuse: (topic: string) => {
      refused.add(topic)
      push({ channel: topic, unsubscribe: { code: 2000, reason: 'server unsubscribe' } })
      for (const { topics } of sockets) topics.delete(topic)
    },
    /** The topic is refused for the moment, until the returned function is called. */
    refuseForNow: (topic: string) => {
      busy.add(topic)
      return () => busy.delete(topic)
    },
    allow: (topic: string) => refused.delete(topic),
    /** Closes every socket; with `isCut` new ones fail, too. */
    cut: ({ isCut = true } = {}) => {
      network.isCut = isCut
      for (const socket of sockets) socket.close()
    },
    mend: () => {
      network.isCut = false
    },
    /** The server ends the subscriptions to a topic, which clients begin again. */
    endTopic: (topic: string) =>
      push({ channel: topic, unsubscribe: { code: 2500, reason: 'insufficient state' } }),
    /** Past events cannot be recovered any more. */
    loseEvents: () => {
      for (const topic of known) lost.add(topic)
    },
    /** A backup was restored: revs and offsets start over. */
    newEpoch: () => {
      network.epoch += '+'
      logs.clear()
    },
  }
}
