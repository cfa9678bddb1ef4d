import { createReconciliation } from '@parley/server/realtime/reconcile'
import { Sessions } from '@parley/server/realtime/sessions'
import { expect, test } from 'vitest'

/** A reconciliation that finds nothing, and how often it compared presence. */
function openReconciliation() {
  const presence = { hasLost: false, compared: 0 }
  const nothing = async () => []
  const reconciliation = createReconciliation({
    db: { use: nothing },
    hub: { reconcile: nothing },
    sessions: new Sessions(),
    presence: { heartbeat: async () => false, removeDeadNodes: nothing },
    knownPresence: {
      get hasLost() {
        return presence.hasLost
      },
      compare: async () => {
        presence.compared += 1
        await new Promise(setImmediate)
      },
    },
    missedProfiles: { missed: () => {}, catchUp: nothing },
    unread: { recheck: () => {}, handleChanges: () => {} },
    recheck: () => {},
  } as unknown as Parameters<typeof createReconciliation>[0]) // what it calls of them
  return { presence, ...reconciliation }
}

test('two reconciliations at once compare presence once, and later ones again', async () => {
  const { presence, reconcile, missedNotes } = openReconciliation()
  missedNotes(1)
  await reconcile()
  await reconcile()
  await Promise.all([reconcile(), reconcile()])
  expect(presence.compared).toBe(1)
  presence.hasLost = true
  for (let pass = 0; pass < 3; pass++) await reconcile()
  expect(presence.compared).toBe(2)
})
