import { afterEach, beforeAll, type MockInstance, vi } from 'vitest'
import { TWIN_APP_ID } from '../support/twin/index.ts'
import { useWorld } from '../support/world.ts'

/** Tables with rows of scenes, and others whose rows a test may leave behind. */
const SCENES = ['channels', 'workspaces', 'users']
const OTHERS = ['webhooks', 'webhook_deliveries', 'before_send_hooks']
export type Tenant = { appId: string; apiKey: string }

/**
 * A world with two apps, `ours` and `theirs`, whose rows are deleted after each test, except those
 * of scenes: tests whose calls are refused share them, and others call `removeScenes`.
 */
export function useTenants() {
  // No timer stores growing messages: its writes would be taken for those of a call.
  const timings = { streamStoreMs: 3_600_000 }
  const world = useWorld({ userAdminAccess: 'server', timings })
  let theirs: Tenant
  let wake: MockInstance
  beforeAll(async () => {
    wake = vi.spyOn(world().cleanup, 'wake')
    const { id: appId, apiKey } = await world().operator.apps.create({ name: 'Other' })
    theirs = { appId, apiKey }
  })
  const remove = async (tables: string[]) => {
    const { db } = world()
    for (const table of tables) await db`delete from ${db(table)} where app_id <> ${TWIN_APP_ID}`
  }
  // A cleanup that deletions have woken would change rows while the next test compares them.
  const cleanUp = async () => {
    if (wake.mock.calls.length > 0) await world().cleanup.run()
    wake.mockClear()
  }
  // Rows that a test leaves behind would be compared in all that follow.
  afterEach(async () => {
    await cleanUp()
    await remove(OTHERS)
    await world().db`delete from events where topic not like ${`%:${TWIN_APP_ID}:%`}`
  })
  const removeScenes = async () => {
    await cleanUp()
    await remove(SCENES)
  }
  return { world, removeScenes, ours: (): Tenant => world(), theirs: () => theirs }
}
