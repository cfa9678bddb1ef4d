import { afterAll, beforeAll, expect, test } from 'vitest'
import { whileLocked } from './support/locks.ts'
import { refusal } from './support/refusal.ts'
import { createWorld, useWorld, type World } from './support/world.ts'

const world = useWorld()
/** This node loses patience. The other one carries out all calls, however long they take. */
let impatient: World
beforeAll(async () => {
  impatient = await createWorld({
    databaseUrl: world().databaseUrl,
    patience: { callMs: 60_000, statementMs: 2_000 },
  })
})
afterAll(() => impatient?.stop())

/** Stops this process, which is also the server, so that it finds all answers at once. */
const stopFor = (milliseconds: number) =>
  void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, milliseconds)

test.each(['react', 'delete', 'remove'] as const)(
  'a call that waits too long for a lock is refused with 503 after a stop: %s',
  async (name) => {
    const [ana] = await world().users('ana', 'ben', 'carl')
    const { id: channelId } = await ana.channels.create({
      type: 'group',
      name: 'Talk',
      memberIds: ['ben', 'carl'],
    })
    const onNode = impatient.api({ token: ana.token })
    const callFor = async (userId: string) => {
      const { id: messageId } = await ana.messages.send({ channelId, text: 'Hello' })
      const ref = { channelId, messageId }
      const calls = {
        react: () => onNode.reactions.add({ ...ref, emoji: '👍' }),
        delete: () => onNode.messages.delete(ref),
        remove: () => onNode.members.remove({ channelId, userId }),
      }
      return calls[name]
    }
    const [first, second] = [await callFor('ben'), await callFor('carl')]
    // The connection prepares the statements, and sends them together from then on.
    await first()
    const refused = await whileLocked(world(), channelId, async (waiting) => {
      const outcome = refusal(second())
      // On a slow machine the call is refused before anybody saw it wait.
      await Promise.race([waiting(1), outcome])
      stopFor(2_500)
      return outcome
    })
    expect(refused).toEqual({ status: 503, code: 'UNAVAILABLE' })
  },
)
