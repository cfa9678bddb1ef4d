import { expect, onTestFinished, test, vi } from 'vitest'
import { idle } from './support/idle.ts'
import { silentLog, useStagingWorld } from './support/jobs.ts'
import { page } from './support/pages.ts'
import { until } from './support/until.ts'

const staging = useStagingWorld()
const { startNode, stopLast, send, withPreviews } = staging

test.each([-1, 1])('a process cleans up although its clock is %i h wrong', async (hours) => {
  const { world, ana } = staging.current()
  const { id: workspaceId } = await ana.workspaces.create({ name: 'Acme', type: 'team' })
  const [first, second] = [
    await ana.invites.create({ workspaceId }),
    await ana.invites.create({ workspaceId }),
  ]
  const { now } = Date
  const clock = vi.spyOn(Date, 'now').mockImplementation(() => now() + hours * 3_600_000)
  onTestFinished(() => clock.mockRestore())
  await startNode({ timings: { cleanupMs: 100 } })
  for (const { id } of [first, second]) {
    await world.db`
      update workspace_invites
      set expires_at = now() - interval '1 second'
      where id = ${id}`
    await until(async () => {
      const invites = await world.db`
        select
        from workspace_invites
        where id = ${id}`
      return invites.length === 0
    })
    // The clock of the database seems to have been set back.
    await world.db`
      update service
      set value = (now() + interval '1 hour')::text
      where key = 'cleanup_enqueued_at'`
  }
})

test('a hanging page delays no pushes, and a hanging provider delays no previews', async () => {
  const { world, web, provider } = staging.current()
  await startNode()
  await idle(world)
  provider.forget()
  const releases: (() => void)[] = []
  const releaseAll = () => {
    for (const release of releases.splice(0)) release()
  }
  web.pages['/hanging'] = (response) => void releases.push(() => response.writeHead(404).end())
  for (let index = 0; index < 12; index++)
    await send(`${web.url}/hanging#${index} ${web.url}/hanging?${index}`)
  await until(() => releases.length > 0 && provider.kindsFor('ben').length === 12)
  web.pages['/hanging'] = page('')
  releaseAll()
  await idle(world)

  provider.behave((...call) => void releases.push(() => provider.accept(...call)))
  for (let index = 0; index < 12; index++) await send(`hello ${index}`)
  await until(() => releases.length > 0)
  await withPreviews((await send(`${web.url}/page while others hang`)).id)
  provider.behave()
  releaseAll()
  await idle(world)
})

test('an invalid job is given up after five attempts; the rest of its batch is run', async () => {
  const { world, provider } = staging.current()
  const lines: string[] = []
  const add = (_: object, message: string) => void lines.push(message)
  const { metrics } = await startNode({ log: { ...silentLog, warn: add, error: add } })
  await idle(world)
  provider.forget()
  const { id } = await send('beside an invalid job')
  const valid = { appId: world.appId, messageId: id }
  const invalid = { appId: 'no uuid', messageId: id }
  await world.db`
    insert into staged_jobs (task, payload)
    values
      ('push-message', ${world.db.json(invalid)}),
      ('push-message', ${world.db.json(valid)})`
  await until(() => lines.includes('job failed'))
  await until(() => provider.kindsFor('ben').length > 0)
  // Each attempt comes at once, not after the pause of the queue.
  await until(async () => {
    await world.db`
      update graphile_worker._private_jobs
      set run_at = now()
      where last_error is not null
        and locked_at is null
        and attempts < max_attempts`
    return lines.includes('job given up')
  })
  expect(lines.filter((line) => line === 'job failed')).toHaveLength(5)
  await idle(world)
  const dead = await world.db`
    select attempts, max_attempts, last_error
    from graphile_worker.jobs
    where task_identifier <> 'cleanup'`
  expect(dead).toEqual([{ attempts: 5, maxAttempts: 5, lastError: 'PostgreSQL error 22P02' }])
  expect(await metrics.registry.getSingleMetricAsString('parley_jobs_total')).toContain(
    '{task="push-message",outcome="given_up"} 1',
  )
  expect(await metrics.registry.getSingleMetricAsString('parley_jobs_total')).toContain(
    '{task="push-message",outcome="failed"} 5',
  )
})

test('pushes older than six hours are given up, younger ones are sent', async () => {
  const { world, provider } = staging.current()
  const errors: string[] = []
  await startNode({ log: { ...silentLog, error: (_, message) => void errors.push(message) } })
  const [old, young] = [await send('hours ago'), await send('not as long ago')]
  await idle(world)
  provider.forget()
  const stage = ({ id }: { id: string }, minutes: number) => {
    const payload = world.db.json({ appId: world.appId, messageId: id })
    return world.db`
      insert into staged_jobs (task, payload, created_at)
      values ('push-message', ${payload}, now() - make_interval(mins => ${minutes}))`
  }
  await stage(old, 361)
  await idle(world)
  expect(errors).toEqual(['job given up: too old'])
  await stage(young, 359)
  await idle(world)
  expect(provider.triggered()).toMatchObject([{ to: 'ben', payload: { messageId: young.id } }])
})

test('each staged job is run once, even when several processes drain', async () => {
  const { world, provider } = staging.current()
  await Promise.all([startNode(), startNode(), startNode()])
  await idle(world)
  provider.forget()
  const sent = await Promise.all(Array.from({ length: 40 }, (_, index) => send(`number ${index}`)))
  await idle(world)
  const transactionIds = provider.triggered().map(({ transactionId }) => transactionId)
  expect(transactionIds.sort()).toEqual(sent.map(({ id }) => `${id}:ben:new-message`).sort())
})

test('staged jobs that are too many for one statement are moved by several', async () => {
  const { world } = staging.current()
  const { db, appId } = world
  await startNode()
  await idle(world)
  await stopLast()
  await db.unsafe(`
    create function refuse_many() returns trigger language plpgsql as $$ begin
      if (select count(*) from moved) > 100 then
        raise exception 'canceling statement due to statement timeout' using errcode = '57014';
      end if;
      return null;
    end $$;
    create trigger refuse_many after delete on staged_jobs
      referencing old table as moved execute function refuse_many()`)
  onTestFinished(() =>
    db`drop trigger refuse_many on staged_jobs; drop function refuse_many`.simple().then(() => {}),
  )
  await db`
    insert into staged_jobs (task, payload)
    select 'preview', jsonb_build_object('appId', ${appId}::text, 'messageId', gen_random_uuid())
    from generate_series(1, 150)`
  await startNode()
  await idle(world)
  await stopLast()
})

test('a channel whose members are slow to read delays the pushes of no other channel', async () => {
  const { world, provider, ana } = staging.current()
  const { db } = world
  const slow = await ana.channels.create({ type: 'group', name: 'Slow', memberIds: ['ben'] })
  await startNode()
  await idle(world)
  await stopLast()
  provider.forget()
  await ana.messages.send({ channelId: slow.id, text: 'slow' })
  const { id } = await send('beside the slow one')
  await db.unsafe(`
    create function is_quick(channel_id uuid) returns boolean language plpgsql as $$ begin
      if channel_id = '${slow.id}' then
        raise exception 'canceling statement due to statement timeout' using errcode = '57014';
      end if;
      return true;
    end $$;
    alter table members rename to all_members;
    create view members as select * from all_members where is_quick(channel_id)`)
  onTestFinished(async () => {
    await db.unsafe(`
      drop view members;
      alter table all_members rename to members;
      drop function is_quick`)
    await db`
      select graphile_worker.permanently_fail_jobs(
        array(select id from graphile_worker.jobs), 'too slow'
      )`
  })
  await startNode()
  await until(() => provider.triggered().length > 0)
  expect(provider.triggered()).toMatchObject([{ to: 'ben', payload: { messageId: id } }])
  // While the job runs again, its next retry may be there already.
  const retrying = await until(async () => {
    const rows = await db<{ jobs: number }[]>`
      select json_array_length(payload->'jobs') as jobs
      from graphile_worker._private_jobs
      where (payload->>'tries')::int > 0
        and attempts < max_attempts
        and locked_at is null`
    return rows.length > 0 && rows
  })
  expect(retrying).toEqual([{ jobs: 1 }])
  await stopLast()
})

test('a push belongs to the trace of the request that caused it', async () => {
  const { world, ana, channelId, provider } = staging.current()
  await startNode()
  await idle(world)
  provider.forget()
  const trace = 'c'.repeat(32)
  const answer = await fetch(`${world.url}/api/channels/${channelId}/messages`, {
    method: 'POST',
    headers: {
      Authorization: `Bearer ${ana.token}`,
      'Content-Type': 'application/json',
      traceparent: `00-${trace}-${'d'.repeat(16)}-00`,
    },
    body: JSON.stringify({ text: 'traced' }),
  })
  expect(answer.status).toBe(201)
  await until(() => provider.kindsFor('ben').length === 1)
  const { traceparent } = provider.calls.find(({ path }) => path.includes('/trigger')) ?? {}
  expect(traceparent).toMatch(new RegExp(`^00-${trace}-(?!d{16})[0-9a-f]{16}-01$`))
})
