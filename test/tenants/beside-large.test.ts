import { expect, test } from 'vitest'
import { NEVER, quietTimings } from '../support/quiet.ts'
import { discardPlans, rowsReadBy } from '../support/rows-read.ts'
import { useWorld } from '../support/world.ts'

const world = useWorld({
  poolSize: 1,
  timings: { ...quietTimings, pingMs: NEVER },
})

const MANY = 4_000
/** The number of rows of the small app, in each table. */
const FEW = 5

/** Rows of the small app among those of the large one, with ids in the order of their times. */
async function fill(largeAppId: string) {
  const { db, appId } = world()
  await db`create sequence numbers`
  const idOf = db`('00000000-0000-7000-8000-' || lpad(nextval('numbers')::text, 12, '0'))::uuid`
  for (const [app, size] of [
    [largeAppId, MANY],
    [appId, FEW],
    [largeAppId, MANY],
  ] as const) {
    await db`
      insert into channels (id, app_id, cid, type, name, created_by)
      select given.id, ${app}, 'group:' || given.id, 'group', 'Talk', 'ana'
      from (select ${idOf} as id from generate_series(1, ${size}::int)) given`
    await db`
      insert into workspaces (id, app_id, name, type, created_by)
      select ${idOf}, ${app}, 'Team', 'team', 'ana'
      from generate_series(1, ${size}::int)`
  }
  // The newest come first; those of others stand in no order of their apps.
  await db`
    insert into audit (app_id, actor, operation, target)
    select
      case when n <= ${FEW} then ${appId} else md5((n * 7919 % 5)::text)::uuid end,
      'key', 'channels.update', '{}'
    from generate_series(1, ${MANY}::int) n`
  await db`vacuum analyze`
  await discardPlans(world())
}

test('the lists of a small app read nothing of a large one beside it', async () => {
  const { operator, backend, appId } = world()
  const large = await operator.apps.create({ name: 'Large' })
  await world().users('ana')
  await world().api({ apiKey: large.apiKey }).tokens.create({ userId: 'ana' })
  await fill(large.id)
  const lists = {
    channels: () => backend.channels.list({}),
    'inspected channels': () => operator.inspect.channels({ appId }),
    'inspected channels by name': () => operator.inspect.channels({ appId, q: 'alk' }),
    'abandoned channels': () => backend.abandoned.channels({}),
    'abandoned workspaces': () => backend.abandoned.workspaces({}),
    'audit log': () => operator.audit.listOfApp({ appId }),
  }
  for (const [name, list] of Object.entries(lists))
    for (const plan of ['generic', 'custom'] as const)
      expect.soft(await rowsReadBy(world(), plan, list), `${name}, ${plan}`).toBeLessThan(20 * FEW)
})
