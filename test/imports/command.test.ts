import { type ChildProcess, spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { root } from '../support/consumer.ts'
import { bundled, useChildren } from '../support/start.ts'
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
  // As if a minute had passed.
  await db`update imports set leased_until = now() - interval '1 second' where app_id = ${appId}`

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

test('the commands of the guide for migrations import an export as Sendbird has it', async () => {
  const { appId } = world()
  const bin = join(folder, 'bin')
  mkdirSync(bin)
  const quoted = [process.execPath, ...bundled()].map((part) => `'${part}'`).join(' ')
  writeFileSync(join(bin, 'parley'), `#!/bin/sh\nexec ${quoted} "$@"\n`, { mode: 0o755 })
  for (const [name, content] of Object.entries(sendbirdFiles())) {
    mkdirSync(dirname(join(folder, name)), { recursive: true })
    writeFileSync(join(folder, name), JSON.stringify(content, null, 2))
  }
  const page = readFileSync(join(root, 'docs/migration.md'), 'utf8')
  const commands = /```sh\n(.*sendbird[^`]*)```/.exec(page)?.[1] ?? ''
  const child = spawn('sh', ['-e', '-c', commands], {
    cwd: folder,
    env: { PATH: `${bin}:${process.env.PATH}`, DATABASE_URL: world().databaseUrl, APP: appId },
  })
  const { code, stdout, stderr } = await ended(child)
  // A slow machine is told how far it is.
  const refusals = stderr.replace(/^\d+ lines, \d+ a second, 0 refused\n/gm, '')
  expect({ code, stderr: refusals }).toEqual({ code: 0, stderr: '1 × message: it was removed\n' })
  expect(JSON.parse(stdout)).toMatchObject({
    ...{ isFinished: true, refused: 0 },
    imported: { users: 2, channels: 2, members: 3, messages: 3 },
  })
  const reader = await world().user('sb-cem')
  const channelId = channelIdOf(world(), 'sb_1')
  expect(await reader.channels.get({ channelId })).toMatchObject({ role: 'moderator' })
  expect((await reader.messages.list({ channelId })).messages).toMatchObject([
    { text: 'Tyres?', replyCount: 1 },
    { text: 'Round ones' },
  ])
})

/** Files of two channels, the messages of one of them from two months. */
function sendbirdFiles() {
  const channelOf = (id: string) => ({ channel_url: id, name: id, created_at: 1_714_555_800 })
  const nameless = ['sb-cem', 'sb-dan'].map((id) => ({ user_id: id, name: id, is_active: true }))
  const members = nameless.map((one, n) => ({ ...one, role: n === 0 ? 'operator' : '' }))
  const messageOf = (id: number, fields: object) => ({
    ...{ type: 'MESG', message_id: id, channel_url: 'sb_1', created_at: 1_714_555_800_000 + id },
    ...{ user: { user_id: 'sb-dan', nickname: 'sb-dan', profile_url: '', metadata: {} } },
    ...{ file: {}, data: '', custom_type: '', updated_at: 0, is_removed: false, ...fields },
  })
  const within = { ...channelOf('sb_1'), members }
  const reply = messageOf(2, { message: 'Round ones', parent_message_id: 1 })
  const removed = messageOf(3, { message: 'No', is_removed: true })
  const alone = messageOf(4, { message: 'Hello', channel_url: 'sb_2' })
  return {
    'users.json': { active_users: nameless.map(({ user_id }) => ({ user_id, nickname: user_id })) },
    'messages/2024-05/a.json': { messages: [messageOf(1, { message: 'Tyres?' })], channel: within },
    'messages/2024-06/a.json': { messages: [reply, removed], channel: within },
    'messages/2024-06/b.json': { messages: [alone], channel: channelOf('sb_2') },
    'channels.json': {
      group_channels: [
        { ...channelOf('sb_1'), members: nameless },
        { ...channelOf('sb_2'), members: nameless.slice(1) },
      ],
    },
  }
}

test('a file of which nothing can be converted ends the command with an error', async () => {
  const file = join(folder, 'unknown.json')
  writeFileSync(file, '{"things":[{"id":1}]}')
  expect(await parley('convert', 'sendbird-export', file).ended).toEqual({
    ...{ code: 1, stdout: '' },
    stderr:
      '1 × an entity without message_id, channel_url and user_id\n' +
      `${file}: nothing in it could be converted\n`,
  })
})
