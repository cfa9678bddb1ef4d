import { spawn } from 'node:child_process'
import { statSync } from 'node:fs'
import { expect, test } from 'vitest'
import { useFolder } from '../app-files/command.ts'
import { cloneDatabase } from '../support/clone-database.ts'
import { bundled } from '../support/start.ts'
import { createWorld, type World } from '../support/world.ts'

/** SCALE=10 moves a million. */
const MESSAGES = 100_000 * Number(process.env.SCALE ?? 1)
const CHANNELS = 200
/** The memory of a command that has hardly anything to do, and room for some batches. */
const MOST_MB = 300

const folder = useFolder()

/** Runs a command: its seconds, and the most memory that it had. */
async function run(databaseUrl: string, ...args: string[]) {
  const began = performance.now()
  const watch = `process.on('exit', () => console.error(process.resourceUsage().maxRSS))`
  const child = spawn(
    process.execPath,
    ['--import', `data:text/javascript,${encodeURIComponent(watch)}`, ...bundled(...args)],
    { env: { PATH: process.env.PATH, DATABASE_URL: databaseUrl } },
  )
  let output = ''
  child.stderr.on('data', (data) => (output += data))
  child.stdout.resume()
  const code = await new Promise((resolve) => child.on('close', resolve))
  expect(code, output).toBe(0)
  const kilobytes = Number(output.trim().split('\n').at(-1))
  return { seconds: (performance.now() - began) / 1_000, megabytes: kilobytes / 1024 }
}

async function fill({ db, appId }: World) {
  await db`set statement_timeout = 0`
  await db`
    with talk as (
      insert into channels (id, app_id, cid, type, created_by, last_seq, rev)
      select
        gen_random_uuid(), ${appId}, 'group:' || n, 'group', 'ana', ${MESSAGES / CHANNELS}::int,
        ${MESSAGES / CHANNELS}::int
      from generate_series(1, ${CHANNELS}::int) n
      returning id
    )
    insert into messages (id, app_id, channel_id, user_id, seq, rev, text, mentions, attachments)
    select
      gen_random_uuid(), ${appId}, talk.id, 'ana', n, n,
      'Message ' || n || ' of some usual length, as people write them', '{}', '[]'
    from talk, generate_series(1, ${MESSAGES / CHANNELS}::int) n`
}

test('a large app moves while it is used, in the memory of a few batches', {
  timeout: 1_800_000,
}, async () => {
  const world = await createWorld({
    patience: { callMs: 600_000, statementMs: 600_000 },
  })
  const database = await cloneDatabase()
  try {
    const ana = await world.user('ana')
    await fill(world)
    const { id: channelId } = await ana.channels.create({ type: 'group', name: 'Live' })
    let sent = 0
    let isRunning = true
    const sending = (async () => {
      for (; isRunning; sent++) await ana.messages.send({ channelId, text: `Live ${sent}` })
    })()
    const file = folder.path('large')
    const out = await run(world.databaseUrl, 'app:export', world.appId, file)
    isRunning = false
    await sending
    expect(sent).toBeGreaterThan(0)
    const into = await run(database.url, 'app:import', file)
    const target = await createWorld({ databaseUrl: database.url })
    const rows = await target.db`
      select c.id
      from channels c
      where c.app_id = ${world.appId}
        and c.last_seq <> (select count(*) from messages msg where msg.channel_id = c.id)`
    // Each channel is of one moment, those that were written to as well.
    expect(rows).toEqual([])
    const [counts] = await target.db`
      select
        (select count(*)::int from channels c where c.app_id = ${world.appId}) as channels,
        (select count(*)::int from messages msg where msg.app_id = ${world.appId}) as messages`
    expect(counts?.channels).toBe(CHANNELS + 1)
    // With those that were sent until the moment of the export.
    expect(counts?.messages).toBeGreaterThanOrEqual(MESSAGES)
    expect(counts?.messages).toBeLessThanOrEqual(MESSAGES + sent)
    await target.stop()
    console.info(
      `${MESSAGES} messages, ${Math.round(statSync(file).size / 1024 ** 2)} MB: ` +
        `export ${out.seconds.toFixed(0)} s, ${out.megabytes.toFixed(0)} MB; ` +
        `import ${into.seconds.toFixed(0)} s, ${into.megabytes.toFixed(0)} MB; ` +
        `${sent} messages were sent meanwhile`,
    )
    expect(Math.max(out.megabytes, into.megabytes)).toBeLessThan(MOST_MB)
  } finally {
    await database.drop()
    await world.stop()
  }
})
