import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { ADMIN_KEY, useWorld } from './support/world.ts'

const world = useWorld()

test('the tour of the README works when pasted into a shell', async () => {
  const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8')
  const tour = readme.slice(
    readme.indexOf('## Five-minute tour'),
    readme.indexOf('## Configuration'),
  )
  const script = [...tour.matchAll(/```sh\n([\s\S]*?)```/g)].map(([, block]) => block).join('\n')
  const env = { ...process.env, URL: world().url, ADMIN_KEY }
  const { stdout, stderr } = await promisify(execFile)('bash', ['--norc', '-euc', script], { env })
  const answers = stdout
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line))

  expect(stderr).toBe('')
  const [reacted, pinned, unread, listed, read, channels] = answers
  expect(reacted).toMatchObject({ success: true, reactions: [{ type: '🍲', count: 1, own: true }] })
  expect(pinned).toEqual({ success: true })
  expect(unread).toEqual({ count: 1 })
  expect(listed).toMatchObject({
    messages: [
      {
        seq: 1,
        text: 'Hello @ben, soup or salad?',
        mentions: ['ben'],
        replyCount: 1,
        user: { name: 'Ana' },
      },
      {
        seq: 2,
        text: 'Soup!',
        pinned: true,
        reactions: [{ type: '🍲', count: 1, own: false }],
        parentId: expect.any(String),
      },
    ],
    maxSeq: 2,
    hasMore: false,
  })
  expect(read).toEqual({ success: true, lastReadSeq: 2 })
  expect(channels).toMatchObject({
    channels: [
      { name: 'Kitchen talk', unreadCount: 0, lastMessage: { text: 'Soup!' }, memberCount: 2 },
    ],
  })
  expect(answers).toHaveLength(6)
})
