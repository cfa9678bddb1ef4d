import { closings } from '@parley/server/realtime/protocol/codes'
import { type Session, Sessions } from '@parley/server/realtime/sessions'
import { expect, test } from 'vitest'
import { openDispatcher } from './dispatcher.ts'
import { ana, openConnection } from './fixture.ts'
import { openNode } from './reconciliation.ts'

type Given = { sessions: Sessions; generation: number; meanwhile?: () => void }
/** Compares the sessions with the generation that the database has. */
const compare = ({ sessions, generation, meanwhile = () => {} }: Given) =>
  openNode({
    sessions,
    use: async (work) =>
      work((texts: string[]) => {
        if (!texts.join('').includes('token_generation')) return []
        meanwhile()
        return [{ tokenGeneration: generation }]
      }),
  }).reconcile()

/** Sessions, of which those are listed that were closed. */
function openSessions() {
  const sessions = new Sessions()
  const closed: Session[] = []
  const add = (generation: number) => {
    const session = { ...ana, generation, topics: [], close: () => void closed.push(session) }
    sessions.add(session)
    return session
  }
  return { sessions, closed, add }
}

test('a session that begins while revocations are looked up stays open', async () => {
  const { sessions, closed, add } = openSessions()
  const first = add(0)
  const later = () => {
    add(2)
    // Its client refreshes with a token of the next generation.
    first.generation = 2
  }
  for (const generation of [1, 2]) {
    await compare({ sessions, generation, meanwhile: generation === 1 ? later : undefined })
    expect(closed).toEqual([])
  }
  await compare({ sessions, generation: 3 })
  expect(closed).toHaveLength(2)
})

test('a note of a revocation that arrives late closes no newer session', async () => {
  const { dispatcher, closed } = await openDispatcher()
  dispatcher.receive({ kind: 'revoked', revoked: { ...ana, generation: 0 } })
  expect(closed).toEqual([])
  dispatcher.receive({ kind: 'revoked', revoked: { ...ana, generation: 1 } })
  expect(closed).toEqual([closings.forced.code])
})

test('a socket that refreshed after a revocation stays open', async () => {
  const { connect, ask, node, sessions, closed } = await openConnection()
  await connect()
  const { verify } = node.tokens
  node.tokens.verify = async (...given) => ({ ...(await verify(...given)), generation: 1 })
  node.generation = async () => 1
  expect(await ask({ id: 2, refresh: { token: 'ana' } })).toHaveProperty('refresh')
  await compare({ sessions, generation: 1 })
  expect(closed).toEqual([])
})
