import { spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { channelIdOf } from '../imports/records.ts'
import { root } from '../support/consumer.ts'
import { bundled, useChildren } from '../support/start.ts'
import { useWorld, type World } from '../support/world.ts'

const world = useWorld()
const { adopt } = useChildren()

/** The commands of the guide that name a format. */
const commandsFor = (format: string) => {
  const page = readFileSync(join(root, 'docs/migration.md'), 'utf8')
  const blocks = [...page.matchAll(/```sh\n([^`]*)```/g)].map(([, block = '']) => block)
  return blocks.find((block) => block.includes(format)) ?? ''
}

/** Runs commands as a reader does, in a folder with these files, who has `parley` and `$APP`. */
async function run(commands: string, files: Record<string, string>) {
  const { appId, databaseUrl } = world()
  const folder = mkdtempSync(join(tmpdir(), 'parley-migration-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true })
    writeFileSync(join(folder, name), content)
  }
  const bin = join(folder, 'bin')
  mkdirSync(bin)
  const quoted = [process.execPath, ...bundled()].map((part) => `'${part}'`).join(' ')
  writeFileSync(join(bin, 'parley'), `#!/bin/sh\nexec ${quoted} "$@"\n`, { mode: 0o755 })
  const child = spawn('sh', ['-e', '-c', commands], {
    cwd: folder,
    env: { PATH: `${bin}:${process.env.PATH}`, DATABASE_URL: databaseUrl, APP: appId },
  })
  adopt(child)
  let stdout = ''
  let stderr = ''
  child.stdout.on('data', (data) => (stdout += data))
  child.stderr.on('data', (data) => (stderr += data))
  const code = await new Promise<number | null>((resolve) => child.on('close', resolve))
  return { code, stderr, report: () => JSON.parse(stdout) }
}

const messagesIn = async ({ user }: World, userId: string, channelId: string) =>
  (await (await user(userId)).messages.list({ channelId })).messages

test('the commands of the guide for migrations import an export as Stream has it', async () => {
  const { code, stderr, report } = await run(commandsFor('stream-export'), {
    'export.jsonl': streamLines()
      .map((line) => `${JSON.stringify(line)}\n`)
      .join(''),
  })
  expect({ code, stderr }).toEqual({ code: 0, stderr: '1 × message: it was deleted\n' })
  expect(report()).toMatchObject({
    ...{ isFinished: true, refused: 0 },
    imported: { users: 2, channels: 1, members: 2, messages: 2, reactions: 1 },
  })
  const channelId = channelIdOf(world(), 'messaging:kitchen')
  expect(await messagesIn(world(), 'st-ana', channelId)).toMatchObject([
    { text: 'Soup?', userId: 'st-ana', replyCount: 1, reactions: [{ type: 'love', count: 1 }] },
    { text: 'Please!', userId: 'st-ben' },
  ])
})

/** An entity a line, as in the second version of its exports. */
function streamLines() {
  const at = (minute: number) => `2024-05-01T09:${minute}:00.123456Z`
  const [ana, ben] = ['st-ana', 'st-ben'].map((id) => ({ id, role: 'user', created_at: at(10) }))
  const cid = 'messaging:kitchen'
  const member = {
    cid,
    created_at: at(11),
    channel_role: 'channel_member',
    notifications_muted: false,
  }
  const message = { cid, type: 'regular', attachments: [], latest_reactions: [], pinned: false }
  const love = { type: 'love', user: ben, user_id: 'st-ben', created_at: at(14), score: 1 }
  return [
    { type: 'user', item: ana },
    { type: 'user', item: ben },
    {
      type: 'channel',
      item: { id: 'kitchen', type: 'messaging', cid, created_by: ana, created_at: at(10) },
    },
    { type: 'member', item: { ...member, user_id: 'st-ana' } },
    { type: 'member', item: { ...member, user_id: 'st-ben' } },
    {
      type: 'message',
      item: {
        ...message,
        id: 'm1',
        text: 'Soup?',
        user: ana,
        created_at: at(12),
        reactions: [love],
      },
    },
    {
      type: 'message',
      item: {
        ...message,
        id: 'm2',
        text: 'Please!',
        user: ben,
        created_at: at(13),
        parent_id: 'm1',
      },
    },
    { type: 'message', item: { ...message, id: 'm3', type: 'deleted', created_at: at(15) } },
  ]
}

test('the commands of the guide for migrations import an export as Sendbird has it', async () => {
  const files = Object.entries(sendbirdFiles()).map(([name, content]) => [
    name,
    JSON.stringify(content, null, 2),
  ])
  const { code, stderr, report } = await run(
    commandsFor('sendbird-export'),
    Object.fromEntries(files),
  )
  // A slow machine logs how far it is.
  const refusals = stderr.replace(/^\d+ lines, \d+ a second, 0 refused\n/gm, '')
  expect({ code, stderr: refusals }).toEqual({ code: 0, stderr: '1 × message: it was removed\n' })
  expect(report()).toMatchObject({
    ...{ isFinished: true, refused: 0 },
    imported: { users: 2, channels: 2, members: 3, messages: 3 },
  })
  const reader = await world().user('sb-cem')
  const channelId = channelIdOf(world(), 'sb_1')
  expect(await reader.channels.get({ channelId })).toMatchObject({ role: 'moderator' })
  expect(await messagesIn(world(), 'sb-cem', channelId)).toMatchObject([
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
