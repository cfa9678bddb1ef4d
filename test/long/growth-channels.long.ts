import { createReadMarkThinning } from '@parley/server/jobs/retention'
import { beforeAll, expect, test } from 'vitest'
import { quietTimings } from '../support/quiet.ts'
import { discardPlans, type PlanKind, rowsReadBy } from '../support/rows-read.ts'
import { useWorld, type World } from '../support/world.ts'

const LONG = 20_000
const SHORT_CHANNELS = 2_000
const plans: PlanKind[] = ['generic', 'custom']

const world = useWorld({
  poolSize: 1,
  timings: quietTimings,
})

/** Messages like those of the product, straight into the database: every tenth is deleted. */
async function insertMessages({ db, appId }: World, channelId: string, count: number) {
  await db`
    insert into messages (
      id, app_id, channel_id, user_id, seq, rev,
      text, mentions, attachments,
      client_id, deleted_at
    )
    select
      gen_random_uuid(), ${appId}, ${channelId}, case when n % 2 = 0 then 'ana' else 'ben' end,
      c.last_seq + n, c.rev + n,
      'hello', '{}', '[]',
      'old-' || n, case when n % 10 = 0 then now() end
    from generate_series(1, ${count}) n
    join channels c on c.id = ${channelId}`
  await db`
    with counted as (
      update channels
      set last_seq = last_seq + ${count}, rev = rev + ${count}
      where id = ${channelId}
      returning id, last_seq
    )
    update members m
    set last_read_seq = counted.last_seq, unread_after_seq = counted.last_seq
    from counted
    where m.channel_id = counted.id`
}

/** Inserts `count` channels of three messages, so that average counts in the statistics are low. */
async function insertShortChannels({ db, appId }: World, count: number) {
  await db`
    with short as (
      insert into channels (id, app_id, cid, type, created_by, last_seq, rev)
      select gen_random_uuid(), ${appId}, 'group:short-' || gen_random_uuid(), 'group', 'ben', 3, 3
      from generate_series(1, ${count})
      returning id
    ),
    joined as (
      insert into members (app_id, channel_id, user_id, role)
      select ${appId}, id, 'ben', 'owner'
      from short
    )
    insert into messages (
      id, app_id, channel_id, user_id, seq, rev, text, mentions, attachments
    )
    select gen_random_uuid(), ${appId}, id, 'ben', n, n, 'hello', '{}', '[]'
    from short, generate_series(1, 3) n`
}

let made = 0
async function talk(messages: number) {
  const [ana] = await world().users('ana', 'ben')
  const { id: channelId } = await ana.channels.create({
    type: 'group',
    name: 'Talk',
    memberIds: ['ben'],
  })
  await insertMessages(world(), channelId, messages)
  const send = (input: { parentId?: string; clientId?: string } = {}) =>
    ana.messages.send({ channelId, text: 'hi', ...input })
  const { id: messageId } = await send()
  const unique = () => `${made++}`
  const operations: Record<string, () => Promise<unknown>> = {
    send: () => send(),
    'send with a clientId': () => send({ clientId: unique() }),
    reply: () => send({ parentId: messageId }),
    edit: () => ana.messages.edit({ channelId, messageId, text: unique() }),
    react: () => ana.reactions.add({ channelId, messageId, emoji: `:${unique()}:` }),
    page: () => ana.messages.list({ channelId, limit: 50 }),
    'page before': () => ana.messages.list({ channelId, before: messageId, limit: 50 }),
    thread: () => ana.messages.replies({ channelId, messageId }),
    message: () => ana.messages.get({ channelId, messageId }),
    channel: () => ana.channels.get({ channelId }),
    read: () => ana.reads.mark({ channelId }),
    delete: async () => ana.messages.delete({ channelId, messageId: (await send()).id }),
  }
  return operations
}

let short: Awaited<ReturnType<typeof talk>>
let long: typeof short
beforeAll(async () => {
  short = await talk(60)
  long = await talk(LONG)
  await insertShortChannels(world(), SHORT_CHANNELS)
})

test.for(['without statistics', 'with statistics'])(
  'no operation reads more rows in a long channel than in a short one, %s',
  async (statistics) => {
    const isAnalysed = statistics === 'with statistics'
    if (isAnalysed) await world().db`vacuum analyze`
    else await discardPlans(world())
    for (const plan of plans) {
      for (const [name, operation] of Object.entries(short)) {
        const few = await rowsReadBy(world(), plan, operation)
        const many = await rowsReadBy(world(), plan, long[name] ?? operation)
        expect.soft(many, `${name}, ${plan} plan`).toBeLessThanOrEqual(1.2 * few + 20)
        if (isAnalysed) expect.soft(few, name).toBeLessThanOrEqual(150)
      }
    }
  },
)

test('deleting a workspace reads none of the other channels of its app', async () => {
  const [ana] = await world().users('ana')
  const rows = await rowsReadBy(world(), 'generic', async () => {
    const { id: workspaceId } = await ana.workspaces.create({ name: 'Team', type: 'team' })
    await ana.workspaces.removeMember({ workspaceId, userId: 'ana' })
    await world().backend.abandoned.deleteWorkspace({ workspaceId })
  })
  expect(rows).toBeLessThan(100)
})

test('a cleanup step reads only its share of the read marks, and the next continues', async () => {
  const { db, pool } = world()
  const [marks, share] = [LONG, LONG / 10]
  await db`
    insert into read_marks (app_id, channel_id, user_id, seq, read_at)
    select m.app_id, m.channel_id, m.user_id, n, now() - interval '1 day'
    from (
      select *
      from members
      where app_id = ${world().appId}
      limit 1
    ) m, generate_series(1, ${marks}::int) n
    on conflict do nothing`
  await db`vacuum analyze read_marks`
  await discardPlans(world())
  let steps = 0
  let ends = 1
  const context = {
    db: pool,
    checkpoint: () => {
      if (++steps > ends) throw new Error('the turn is over')
    },
    attempt: async () => true,
    batch: { run: <T>(step: (rows: number) => Promise<T>) => step(share) },
  }
  for (const plan of plans) {
    const rows = await rowsReadBy(world(), plan, async () => {
      steps = 0
      await expect(createReadMarkThinning()(context)).rejects.toThrow('over')
    })
    expect(rows, plan).toBeLessThanOrEqual(1.1 * share)
  }
  const thin = createReadMarkThinning()
  for (let run = 0; run < 3; run++) {
    steps = 0
    await expect(thin(context)).rejects.toThrow('over')
  }
  steps = 0
  ends = 1_000
  await thin(context)
  expect(steps).toBeLessThanOrEqual(marks / share - 3 + 2)
})
