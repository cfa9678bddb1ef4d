import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { parleyOn } from '../app-files/command.ts'
import { bundled, useChildren } from '../support/start.ts'
import { until } from '../support/until.ts'
import { useWorld } from '../support/world.ts'
import { at, channel, channelIdOf, expectExactCounters, member, message, user } from './records.ts'

const world = useWorld()
const { adopt } = useChildren()
let folder = ''
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'parley-import-'))
})
afterAll(() => rmSync(folder, { recursive: true }))

const MESSAGES = 1_200
const minute = (n: number) => at((n * 7) % MESSAGES)
const records = [
  user('ana'),
  channel('big'),
  member('big', 'ana'),
  ...Array.from({ length: MESSAGES }, (_, n) => message(`b${n}`, 'big', { createdAt: minute(n) })),
]

function parley(...args: string[]) {
  const { databaseUrl } = world()
  const child = spawn(process.execPath, bundled(...args), {
    cwd: folder,
    env: { PATH: process.env.PATH, DATABASE_URL: databaseUrl },
  })
  return { child, ended: ended(child) }
}

function ended(child: ChildProcess) {
  adopt(child)
  const output = { stdout: '', stderr: '' }
  child.stdout?.on('data', (data) => (output.stdout += data))
  child.stderr?.on('data', (data) => (output.stderr += data))
  return new Promise<{ code: number | null; stdout: string; stderr: string }>((resolve) =>
    child.on('close', (code) => resolve({ code, ...output })),
  )
}

const write = (child: ChildProcess, lines: object[]) =>
  new Promise((resolve) =>
    child.stdin?.write(lines.map((line) => `${JSON.stringify(line)}\n`).join(''), resolve),
  )

test('an import that is killed goes on where it was when its file is sent again', async () => {
  const { db, appId } = world()
  const killed = parley('import', '-', '--app', appId)
  await write(killed.child, records.slice(0, 800))
  const waiting = () => db`select from imported_rows where app_id = ${appId}`
  await expect.poll(async () => (await waiting()).length, { timeout: 60_000 }).toBeGreaterThan(400)
  killed.child.kill('SIGKILL')
  await killed.ended
  // The statements that it had sent may still be carried out, and renew its lease.
  const sessions = () => db`
    select
    from pg_stat_activity
    where datname = current_database()
      and application_name = 'parley-import'`
  await expect.poll(sessions).toHaveLength(0)
  // As if a minute had passed.
  await db`
    update imports
    set leased_until = now() - interval '1 second'
    where app_id = ${appId}`

  const file = join(folder, 'parley.jsonl')
  writeFileSync(file, records.map((record) => `${JSON.stringify(record)}\n`).join(''))
  const { code, stdout } = await parley('import', file, '--app', appId).ended
  expect(code).toBe(0)
  const report = JSON.parse(stdout)
  expect(report).toMatchObject({ isFinished: true, refused: 0, skipped: { users: 1, channels: 1 } })
  expect(report.skipped.messages).toBeGreaterThan(400)
  expect(report.skipped.messages + report.imported.messages).toBe(MESSAGES)
  const ana = await world().user('ana')
  const { messages, maxSeq } = await ana.messages.list({
    channelId: channelIdOf(world(), 'big'),
    since_seq: 0,
  })
  expect(maxSeq).toBe(MESSAGES)
  const times = messages.map(({ createdAt }) => createdAt)
  expect(times).toEqual(times.toSorted())
  await expectExactCounters(world())
})

/** The time in which an import over HTTP gives up is over at once. */
const stalled = `
  const { setTimeout } = globalThis
  const isLimit = (ms) => ms > 19_000 && ms <= 20_000
  globalThis.setTimeout = (work, ms, ...rest) => setTimeout(work, isLimit(ms) ? 0 : ms, ...rest)`

test('a pipe that is silent for longer than a request may be is waited for', async () => {
  const { db, operator, databaseUrl } = world()
  const { id: appId } = await operator.apps.create({ name: 'Piped' })
  const child = spawn(process.execPath, bundled('import', '-', '--app', appId), {
    cwd: folder,
    env: {
      PATH: process.env.PATH,
      DATABASE_URL: databaseUrl,
      NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(stalled)}`,
    },
  })
  const end = ended(child)
  const began = () => db`
    select
    from audit
    where app_id = ${appId}
      and operation = 'imports.run'`
  await until(async () => (await began()).length > 0)
  child.stdin.end(`${JSON.stringify(user('ana'))}\n`)
  expect(await end).toMatchObject({ code: 0, stdout: expect.stringContaining('"users": 1') })
})

test('parley import refuses an unknown app and an empty file in one line', async () => {
  const file = join(folder, 'empty.jsonl')
  writeFileSync(file, '')
  const unknown = await parley('import', file, '--app', 'nothing').ended
  expect(unknown).toMatchObject({ code: 1, stderr: '--app: there is no app with this id\n' })
  const empty = await parley('import', file, '--app', world().appId).ended
  expect(empty).toMatchObject({
    code: 1,
    stderr: 'Nothing is shown yet: the file is empty, or its last line is cut off\n',
  })
})

test('a file that is not there, and a folder, are named in one line', async () => {
  for (const [file, reason] of [
    [join(folder, 'nowhere'), 'ENOENT'],
    [folder, 'EISDIR'],
  ] as const) {
    const output = `${file}: cannot be read (${reason})`
    for (const args of [
      ['import', file, '--app', world().appId],
      ['convert', 'stream-export', file],
      ['app:import', file],
    ])
      expect(await parleyOn(world().databaseUrl, ...args)).toEqual({ code: 1, output })
  }
})

test('a file whose lines are all refused ends the command with an error', async () => {
  const file = join(folder, 'unconverted.jsonl')
  const one = '{"type":"user","item":{"id":"ana"}}'
  writeFileSync(file, `${one}\n${one}\n`)
  const { code, stdout, stderr } = await parley('import', file, '--app', world().appId).ended
  expect(code).toBe(1)
  expect(stderr).toMatch(/^Nothing was imported: see the refusals$/m)
  expect(JSON.parse(stdout)).toMatchObject({ isFinished: true, refused: 2 })
  // A record that is there already is no reason for an error.
  writeFileSync(file, `${one}\n${JSON.stringify(user('ana'))}\n`)
  for (const refused of [1, 1]) {
    const again = await parley('import', file, '--app', world().appId).ended
    expect(again.code).toBe(0)
    expect(JSON.parse(again.stdout)).toMatchObject({ refused })
  }
})

test('a file without anything to convert ends the command with an error', async () => {
  const file = join(folder, 'unknown.json')
  writeFileSync(file, '{"things":[{"id":1}]}')
  expect(await parley('convert', 'sendbird-export', file).ended).toEqual({
    ...{ code: 1, stdout: '' },
    stderr:
      '1 × an entity without message_id, channel_url and user_id\n' +
      `${file}: nothing in it could be converted\n`,
  })
})

test('an import that fails ends although its pipe stays open', async () => {
  const { db, operator } = world()
  const whole = parley('app:import', '-')
  await write(whole.child, [user('ana')])
  expect(await whole.ended).toMatchObject({
    code: 1,
    stderr: 'line 1: this is no file of parley app:export\n',
  })
  const { id: appId } = await operator.apps.create({ name: 'Disabled' })
  const records = parley('import', '-', '--app', appId)
  const isDue = () => db`
    select
    from users
    where app_id = ${appId}
      and id = 'first'`
  await write(records.child, [user('first')])
  await until(async () => (await isDue()).length > 0)
  await operator.apps.update({ appId, enabled: false })
  await write(records.child, [user('second')])
  expect(await records.ended).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^The app was disabled or deleted during the import$/m),
  })
})
