import { createOutages, logOutages } from '@parley/server/db/outages'
import { expect, onTestFinished, test, vi } from 'vitest'
import { expectError, post } from './support/raw.ts'
import { useWorld } from './support/world.ts'

const world = useWorld()
const full = Object.assign(new Error('could not extend file'), { code: '53100' })

/** From now on the database answers inserts of messages as if its disk were full. */
async function fillDisk() {
  const { db } = world()
  await db.unsafe(`
    create function no_room() returns trigger language plpgsql as $$ begin
      raise exception 'could not extend file' using errcode = '53100';
    end $$;
    create trigger no_room before insert on messages execute function no_room()`)
  const empty = async () => void (await db.unsafe('drop function if exists no_room cascade'))
  onTestFinished(empty)
  return empty
}

test('with a full disk sends are refused, reads are served, and health says so', async () => {
  const ana = await world().user('ana')
  const { id } = await ana.channels.create({ type: 'group', name: 'Full' })
  const send = () =>
    post(world().url, `/api/channels/${id}/messages`, {
      headers: { Authorization: `Bearer ${ana.token}`, 'Content-Type': 'application/json' },
      body: '{"text":"hi"}',
    })
  const health = async () => {
    const { status, body } = await post(world().url, '/health', { method: 'GET' })
    return [status, (JSON.parse(body) as { checks: unknown }).checks]
  }
  expect(await health()).toEqual([200, { database: 'ok' }])
  const empty = await fillDisk()
  for (let time = 0; time < 2; time++) {
    const refused = await send()
    expect(expectError(refused, 'UNAVAILABLE')).toBe('The database has no room to write')
    expect(refused.headers['retry-after']).toBe('1')
    expect((await ana.messages.list({ channelId: id })).maxSeq).toBe(0)
    expect(await health()).toEqual([200, { database: 'ok', disk: 'full' }])
  }
  await empty()
  expect((await send()).status).toBe(201)
})

test('a full disk is logged when it begins, and once no write was refused for a minute', () => {
  let now = 0
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => now)
  onTestFinished(() => clock.mockRestore())
  const written: unknown[] = []
  const outages = createOutages()
  const write = (level: string) => (facts: object, message: string) =>
    void written.push({ level, ...facts, message })
  logOutages(outages, { warn: write('warn'), info: write('info') })
  for (now = 1_000; now < 200_000; now += 50_000) {
    outages.failed(full)
    outages.worked()
  }
  const begins = { level: 'warn', fault: 'could not extend file', message: 'database disk full' }
  expect(written).toEqual([begins])
  expect(outages.isDiskFull()).toBe(true)
  now = 151_000 + 60_000
  outages.worked()
  outages.worked()
  const ends = { level: 'info', ms: 210_000, failures: 4, message: 'database disk no longer full' }
  expect(written).toEqual([begins, ends])
  expect(outages.isDiskFull()).toBe(false)
})

test('an outage of the database while its disk is full is logged apart', () => {
  const outages = createOutages()
  const changes: unknown[] = []
  outages.subscribe(({ of, isOver }) => void changes.push([of, isOver]))
  outages.failed(full)
  outages.failed(Object.assign(new Error('connection refused'), { code: 'ECONNREFUSED' }))
  outages.failed(full)
  outages.worked()
  expect(changes).toEqual([
    ['disk', false],
    ['database', false],
    ['database', true],
  ])
})
