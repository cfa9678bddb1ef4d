import type { UserRef } from '@parley/server/core/user-ref'
import { createDb } from '@parley/server/db/client'
import type { PresenceNote } from '@parley/server/realtime/broker/index'
import { PresenceTracker } from '@parley/server/realtime/presence/index'
import { type Session, Sessions } from '@parley/server/realtime/sessions'
import { afterAll, beforeAll, onTestFinished } from 'vitest'
import { unhurried } from '../support/until.ts'
import type { World } from '../support/world.ts'

export const DEAD_AFTER_MS = 60_000

/** The presence of nodes of their own, without anything else of a node. */
export function useTrackers(world: () => World) {
  let db: ReturnType<typeof createDb>
  beforeAll(() => {
    const options = { poolSize: 2, applicationName: 'parley-test', patience: unhurried }
    db = createDb({ url: world().databaseUrl, ...options })
  })
  afterAll(() => db.end({ timeout: 1 }))

  let nodes = 0
  /** The presence of a node, and the changes that it reports: those of others would be its own. */
  async function openNode(database = db, graceMs = 0) {
    const nodeId = `node-${++nodes}`
    const sessions = new Sessions()
    const changes: string[] = []
    const versions: (number | undefined)[] = []
    const problems: string[] = []
    const tracker = new PresenceTracker({
      db: database,
      nodeId,
      sessions,
      graceMs,
      deadAfterMs: DEAD_AFTER_MS,
      beatPatienceMs: 60_000,
      onChange: ({ userId, isOnline, version }: PresenceNote) => {
        changes.push(`${userId} ${isOnline ? 'online' : 'offline'}`)
        versions.push(version)
      },
      report: (_, problem) => void problems.push(problem),
    })
    onTestFinished(async () => {
      await tracker.stop()
      await world().db`delete from nodes where id = ${nodeId}`
    })
    await tracker.beat()
    const connect = async (user: UserRef) => {
      const session = user as Session // nothing else of it is used
      sessions.add(session)
      await tracker.userConnected(user)
      return () => {
        sessions.remove(session)
        tracker.userDisconnected(user)
      }
    }
    const rows = () => world().db<{ userId: string }[]>`
      select user_id
      from connections
      where node_id = ${nodeId}`
    return { nodeId, tracker, connect, changes, versions, problems, rows }
  }
  async function newUser(userId: string): Promise<UserRef> {
    await world().user(userId)
    return { appId: world().appId, userId }
  }
  const age = (nodeId: string) => world().db`
    update nodes
    set beat_at = now() - interval '1 hour'
    where id = ${nodeId}`
  /** Moves a node's heartbeat, as time or a change of the clock does. */
  const moveBeat = (nodeId: string, interval: string) => world().db`
    update nodes
    set beat_at = beat_at + ${interval}::interval
    where id = ${nodeId}`
  return { db: () => db, openNode, newUser, age, moveBeat }
}
