import { beforeAll, describe, expect, test } from 'vitest'
import { quietTimings } from '../support/quiet.ts'
import { discardPlans, type PlanKind, rowsReadBy } from '../support/rows-read.ts'
import { useWorld, type World } from '../support/world.ts'

const world = useWorld({
  poolSize: 1,
  timings: quietTimings,
})

/** How many users, and open channels. A search walks through 2,000 of them, in order. */
const MANY = 5_000
const WALKED = 2_000

/** Every name has "person" in it; the last one in order, or of the longest ago, is another. */
const insertUsers = (db: World['db'], appId: string, rare: string) => db`
  insert into users (app_id, id, name)
  select ${appId}, 'user-' || n, case when n = ${MANY} then ${rare} else 'Person ' || n end
  from generate_series(1, ${MANY}) n`

const insertChannels = (db: World['db'], appId: string, rare: string) => db`
  with creator as (
    insert into users (app_id, id)
    values (${appId}, 'creator')
  )
  insert into channels (
    id, app_id, cid, type, name, created_by, last_activity_at, active_hour
  )
  select
    gen_random_uuid(), ${appId}, 'public:' || n, 'public',
    case when n = ${MANY} then ${rare} else 'Room ' || n end, 'creator',
    now() - n * interval '1 minute',
    date_trunc('hour', now() - n * interval '1 minute', 'UTC')
  from generate_series(1, ${MANY}) n`

beforeAll(async () => {
  const { db, appId, operator } = world()
  // Statistics of before say that the app has no users.
  await db`analyze users`
  await insertUsers(db, appId, 'Zoë Ωquux')
  await insertChannels(db, appId, 'Zoë Ωquux')
  // The text that is rare in this app is in every name of another app.
  const { id: otherId } = await operator.apps.create({ name: 'Other' })
  await db`
    insert into users (app_id, id, name)
    select ${otherId}, 'user-' || n, 'ωquux ' || n
    from generate_series(1, ${MANY}) n`
})

describe.each(['with outdated statistics', 'with statistics'])('%s', (statistics) => {
  beforeAll(async () => {
    if (statistics === 'with statistics') await world().db`vacuum analyze`
    else await discardPlans(world())
  })

  test.each(['ωquux', 'ωq', 'ж'])(
    'a search for "%s", which few names contain, reads about 2,000 rows at most',
    async (q) => {
      const { backend } = world()
      const ana = await world().user('ana')
      const found = q.startsWith('ω') ? 1 : 0
      const after = { cursor: (await backend.users.list({ limit: 5 })).nextCursor ?? '' }
      const searches = {
        users: async () => (await backend.users.list({ q })).users,
        'users after a cursor': async () => (await backend.users.list({ q, ...after })).users,
        channels: async () => (await ana.channels.list({ discover: true, q })).channels,
      }
      for (const plan of ['generic', 'custom'] satisfies PlanKind[])
        for (const [name, search] of Object.entries(searches)) {
          expect(await search(), name).toHaveLength(found)
          const rows = await rowsReadBy(world(), plan, search)
          expect.soft(rows, `${name}, ${plan} plan`).toBeLessThanOrEqual(WALKED + 150)
        }
    },
  )
})

test.each(['person', 's'])(
  'a search for "%s", which most names have, reads the first of them',
  async (q) => {
    const search = () => world().backend.users.list({ q, limit: 20 })
    expect((await search()).users).toHaveLength(20)
    for (const plan of ['generic', 'custom'] satisfies PlanKind[])
      expect.soft(await rowsReadBy(world(), plan, search)).toBeLessThanOrEqual(150)
  },
)

test('the last page of a search for what most names have reads the last rows alone', async () => {
  const { backend } = world()
  const before = await backend.users.list({ limit: 10, offset: MANY - 20 })
  const cursor = before.nextCursor ?? ''
  const search = async () => (await backend.users.list({ q: 'person', cursor })).users
  const found = await search()
  expect(found.length).toBeGreaterThan(5)
  expect(found.length).toBeLessThan(20)
  for (const plan of ['generic', 'custom'] satisfies PlanKind[])
    expect.soft(await rowsReadBy(world(), plan, search)).toBeLessThanOrEqual(150)
})

test('the pages of a search have every user with the text in their name, in order', async () => {
  const { backend, db, appId } = world()
  for (const q of ['n 499', '99', '9', 'N', 'ωQU']) {
    const expected = await db<{ id: string }[]>`
      select id
      from users
      where app_id = ${appId}
        and display_name ilike ${`%${q}%`}
      order by display_name, id
      limit 12`
    const first = await backend.users.list({ q, limit: 6 })
    const cursor = first.nextCursor
    const second = cursor === null ? [] : (await backend.users.list({ q, limit: 6, cursor })).users
    const skipped = (await backend.users.list({ q, limit: 6, offset: 6 })).users
    const ids = (users: { id: string }[]) => users.map(({ id }) => id)
    expect(ids([...first.users, ...second]), q).toEqual(ids(expected))
    expect(ids(skipped), q).toEqual(ids(second))
  }
})
