import { Socket } from 'node:net'
import { afterAll, beforeAll, vi } from 'vitest'

/**
 * Observes every attempt of this process to connect to an address, after its name was resolved.
 * TLS connections are among them; whether an attempt succeeds makes no difference.
 */
export function observeConnections() {
  const attempts: string[] = []
  let react = (_address: string) => {}
  const observe = (socket: Socket) =>
    socket.on('connectionAttempt', (ip: string, port: number) => {
      const address = `${ip}:${port}`
      attempts.push(address)
      // The attempt itself comes right after this event: a socket must not be destroyed before it.
      queueMicrotask(() => react(address))
    })

  beforeAll(() => {
    const { connect } = Socket.prototype
    vi.spyOn(Socket.prototype, 'connect').mockImplementation(function (
      this: Socket,
      ...given: unknown[]
    ) {
      return Reflect.apply(connect, observe(this), given)
    })
  })
  afterAll(() => vi.mocked(Socket.prototype.connect).mockRestore())

  return {
    /** As `ip:port`, in order. */
    attempts: () => attempts,
    forget: () => void attempts.splice(0),
    /** Calls `reaction` after each attempt, instead of an earlier reaction. */
    onAttempt: (reaction: (address: string) => void) => {
      react = reaction
    },
  }
}
