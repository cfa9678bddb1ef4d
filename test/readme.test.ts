import { execFile, spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'
import { root } from './support/consumer.ts'
import { examplesOf } from './support/examples.ts'
import { wsUrlOf } from './support/realtime.ts'
import { ADMIN_KEY, useWorld } from './support/world.ts'

const world = useWorld({ wsUrl: () => wsUrlOf(world()) })

/** Interactive shells, as a reader has them, without the settings of this machine's user. */
const shells = { bash: 'bash --norc --noprofile -i', zsh: 'zsh -f -i', dash: 'dash -i' }
const isInstalled = (program: string) =>
  spawnSync('sh', ['-c', `command -v ${program}`]).status === 0

for (const [shell, command] of Object.entries(shells))
  test.skipIf(!isInstalled(shell))(
    `the README's tour works when pasted into ${shell}`,
    async () => {
      const blocks = tourOf('../README.md').filter((block) => !block.includes('tour.mts'))
      expectTour(await paste(command, blocks))
    },
  )

test("the block of the README's tour that uses a wrong key says so", async () => {
  const [block = ''] = tourOf('../README.md')
  const script = `${block}\necho "API key: $API_KEY."`
  const env = { ...process.env, URL: world().url, ADMIN_KEY: 'ak_of-another-server' }
  const { stdout, stderr } = await promisify(execFile)('sh', ['-c', script], { env })
  expect(stderr.split('\n')[0]).toBe('X-Admin-Key: expected the admin key')
  expect(stdout).toBe('API key: .\n')
})

test("the README's TypeScript runs as it says, in the terminal of the tour", async () => {
  const blocks = tourOf('../README.md')
  const folder = asClone()
  const [program = ''] = examplesOf('README.md')
  writeFileSync(join(folder, 'tour.mts'), program)
  const script = `set -e\n${blocks.join('\n')}`
  // A newer Node.js may warn of what tsx does.
  const env = { ...process.env, URL: world().url, ADMIN_KEY, NODE_NO_WARNINGS: '1' }
  const { stdout, stderr } = await promisify(execFile)('sh', ['-c', script], { env, cwd: folder })
  expect(stderr).toBe('')
  expect(blocks.at(-1)).toContain('tour.mts')
  const shown = [...stdout.matchAll(/text: 'Hello @ben',[\s\S]*?status: '(\w+)'/g)]
  const statuses = shown.map(([, status]) => status)
  expect([statuses.at(0), statuses.at(-1)]).toEqual(['pending', 'sent'])
})

/** A folder in which programs find the packages of a clone. */
function asClone() {
  const folder = mkdtempSync(join(tmpdir(), 'parley-clone-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'), 'junction')
  // `npm init` makes such a file.
  writeFileSync(join(folder, 'package.json'), '{ "type": "commonjs" }')
  return folder
}

/** The shell blocks of the README's tour, one after the other. */
function tourOf(file: string) {
  const readme = readFileSync(new URL(file, import.meta.url), 'utf8')
  const tour = readme.slice(
    readme.indexOf('## Five-minute tour'),
    readme.indexOf('## Configuration'),
  )
  return [...tour.matchAll(/```sh\n([\s\S]*?)```/g)].map(([, block = '']) => block)
}

/** Types the blocks into a shell on its own terminal; returns the lines of JSON that it printed. */
async function paste(command: string, blocks: string[]) {
  const folder = mkdtempSync(join(tmpdir(), 'parley-tour-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const typed = join(folder, 'typed')
  writeFileSync(typed, `${blocks.join('\n')}\nexit\n`)
  const env = {
    ...process.env,
    URL: world().url,
    ADMIN_KEY,
    HISTFILE: '',
    TERM: 'dumb',
    PS1: '',
    PS2: '',
  }
  const { stdout } = await promisify(execFile)(
    'sh',
    ['-c', `script -qec '${command}' /dev/null < ${typed}`],
    { env },
  )
  // dash prints its prompt before an answer, whatever PS1 says.
  const answers = stdout.matchAll(/^(?:[#$>] )*(\{.*\})\r?$/gm)
  return [...answers].map(([, json = '']) => JSON.parse(json))
}

function expectTour(answers: unknown[]) {
  const [reacted, pinned, unread, listed, read, channels] = answers
  expect(reacted).toMatchObject({ success: true, reactions: [{ type: '🍲', count: 1, own: true }] })
  expect(pinned).toEqual({ success: true })
  expect(unread).toEqual({ count: 1, version: expect.any(Number) })
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
        text: 'Soup, please',
        pinned: true,
        reactions: [{ type: '🍲', count: 1, own: false }],
        parentId: expect.any(String),
      },
    ],
    maxSeq: 2,
    hasMore: false,
  })
  expect(read).toEqual({
    success: true,
    lastReadSeq: 2,
    unreadCount: 0,
    unreadVersion: expect.any(Number),
  })
  expect(channels).toMatchObject({
    channels: [
      {
        name: 'Kitchen talk',
        unreadCount: 0,
        lastMessage: { text: 'Soup, please' },
        memberCount: 2,
      },
    ],
  })
  expect(answers).toHaveLength(6)
}
