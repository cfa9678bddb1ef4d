import { AsyncLocalStorage } from 'node:async_hooks'
import { Socket } from 'node:net'
import { afterAll, beforeAll, vi } from 'vitest'

/**
 * Observes every attempt of `observed` work to connect to an address, after its name was resolved.
 * TLS connections are among them; whether an attempt succeeds makes no difference. Other code in
 * this process, such as a server of an earlier file, connects unobserved.
 */
export function observeConnections() {
  const attempts: string[] = []
  const work = new AsyncLocalStorage<true>()
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
      return Reflect.apply(connect, work.getStore() ? observe(this) : this, given)
    })
  })
  afterAll(() => {
    vi.mocked(Socket.prototype.connect).mockRestore()
    // Otherwise Node.js 20 tracks every promise of the worker, in all later files.
    work.disable()
  })

  return {
    observed: <T>(begin: () => T) => work.run(true, begin),
    /** As `ip:port`, in order. */
    attempts: () => attempts,
    forget: () => void attempts.splice(0),
    /** Calls `reaction` after each attempt, instead of an earlier reaction. */
    onAttempt: (reaction: (address: string) => void) => {
      react = reaction
    },
  }
}
