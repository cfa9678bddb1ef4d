import { beforeAll, test } from 'vitest'
import { whileLocked } from './support/locks.ts'
import { type User, useWorld } from './support/world.ts'

// An app uses two of these connections at most, and a user one.
const world = useWorld({ poolSize: 4 })
let ana: User
let ben: User
beforeAll(async () => {
  ;[ana, ben] = await world().users('ana', 'ben')
})

const createChannel = async (...memberIds: string[]) => {
  const { id } = await ana.channels.create({ type: 'group', name: 'Talk', memberIds })
  return id
}
/** Promises that are waited for after the lock is gone. */
const later = <T>(...promises: Promise<T>[]) => ({ promises })

test('messages to a locked channel do not wait behind calls of their first author', async () => {
  const [held, common] = [await createChannel(), await createChannel('ben')]
  const { promises } = await whileLocked(world(), held, async (locked) => {
    // This call takes the only place of the user.
    const stuck = ana.channels.update({ channelId: held, name: 'Renamed' })
    await locked(1)
    const sends = await whileLocked(world(), common, async () => {
      const first = ana.messages.send({ channelId: common, text: 'first' })
      const second = ben.messages.send({ channelId: common, text: 'second' })
      // Their batch waits for the channel, not for the call.
      await locked(2)
      return later(first, second)
    })
    await Promise.all(sends.promises)
    await locked(1)
    return later(stuck)
  })
  await Promise.all(promises)
})
