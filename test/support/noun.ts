import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** Adds a noun by the list of CONTRIBUTING.md, as far as that is a matter of text. */
export function addPolls(tree: string) {
  for (const [file, text] of Object.entries(files)) writeFileSync(join(tree, file), text)
  for (const [file, anchor, text] of insertions) insertAfter(join(tree, file), anchor, text)
}

function insertAfter(file: string, anchor: string, text: string) {
  const content = readFileSync(file, 'utf8')
  const at = content.indexOf(anchor)
  if (at === -1) throw new Error(`${file}: expected ${anchor}`)
  const end = at + anchor.length
  writeFileSync(file, content.slice(0, end) + text + content.slice(end))
}

const files = {
  'contract/polls.ts': `import { z } from 'zod'
import * as field from './fields.ts'
import { operation } from './operation.ts'

const pollId = z
  .uuid()
  .meta({ description: 'Id of the poll.', examples: ['019c9b1d-22bb-7c3d-9d4e-5f6071829304'] })
const text = z
  .string()
  .min(1)
  .max(300)
  .meta({ description: 'The question.', examples: ['Soup or salad?'] })

const Poll = z
  .object({ id: pollId, channelId: field.channelId(), text })
  .meta({ id: 'Poll', description: 'A question to the members of a channel.' })

export const polls = {
  create: operation({
    method: 'POST',
    path: '/api/channels/{channelId}/polls',
    auth: 'user',
    status: 201,
    summary: 'Create a poll',
    description: 'Asks the members of a channel a question.',
    input: z.object({ channelId: field.channelId(), text }),
    output: Poll,
  }),
  list: operation({
    method: 'GET',
    path: '/api/channels/{channelId}/polls',
    auth: 'user',
    summary: 'List polls',
    description: 'The polls of a channel, the newest first.',
    input: z.object({ channelId: field.channelId() }),
    output: z.object({ polls: z.array(Poll).meta({ description: 'The newest first.' }) }),
  }),
}
`,
  'server/db/schema/polls.ts': `import { pgTable, text, uuid } from 'drizzle-orm/pg-core'
import { channels } from './channels.ts'

export const polls = pgTable('polls', {
  id: uuid().primaryKey(),
  appId: uuid().notNull(),
  channelId: uuid()
    .notNull()
    .references(() => channels.id, { onDelete: 'cascade' }),
  text: text().notNull(),
})
`,
  'server/features/polls.ts': `import { contract } from '@parley/contract'
import { v7 as uuidv7 } from 'uuid'
import { type Implements, implement, implementWithoutTransaction } from '../core/operation.ts'
import { channelForMember, lockedChannelForMember } from './channels/access.ts'

const create = implement(contract.polls.create, async (ctx, { channelId, text }) => {
  await lockedChannelForMember(ctx, channelId)
  const id = uuidv7()
  await ctx.db\`
    insert into polls (id, app_id, channel_id, text)
    values (\${id}, \${ctx.caller.appId}, \${channelId}, \${text})\`
  return { id, channelId, text }
})

type PollRow = { id: string; channelId: string; text: string }

const list = implementWithoutTransaction(contract.polls.list, async (ctx, { channelId }) => {
  await channelForMember(ctx, channelId)
  const polls = await ctx.db<PollRow[]>\`
    select id, channel_id, text
    from polls
    where channel_id = \${channelId}
    order by id desc\`
  return { polls: [...polls] }
})

export const polls = { create, list } satisfies Implements<'polls'>
`,
  'test/polls.test.ts': `import { expect, test } from 'vitest'
import { useWorld } from './support/world.ts'

const world = useWorld()

test('a poll is listed for every member of its channel', async () => {
  const [ana, ben] = await world().users('ana', 'ben')
  const { id: channelId } = await ana.channels.create({
    type: 'group',
    name: 'Kitchen',
    memberIds: ['ben'],
  })
  const poll = await ana.polls.create({ channelId, text: 'Soup or salad?' })
  expect(await ben.polls.list({ channelId })).toEqual({ polls: [poll] })
})
`,
}

const insertions = [
  [
    'contract/contract.ts',
    "import { pins } from './pins.ts'\n",
    "import { polls } from './polls.ts'\n",
  ],
  ['contract/contract.ts', 'export const contract = {\n', '  polls,\n'],
  [
    'contract/contract.ts',
    'nounDescriptions: Record<keyof Contract, string> = {\n',
    "  polls: 'Questions to the members of a channel.',\n",
  ],
  ['server/db/schema/index.ts', "from './messages.ts'\n", "export { polls } from './polls.ts'\n"],
  [
    'server/features/index.ts',
    "import { pins } from './pins.ts'\n",
    "import { polls } from './polls.ts'\n",
  ],
  ['server/features/index.ts', 'export const operations = {\n', '  polls,\n'],
  [
    'server/commands/app-file/tables.ts',
    "  ofChannels('pins', 'p'),\n",
    "  ofChannels('polls', 'poll'),\n",
  ],
  [
    'docs/architecture.md',
    '| app_imports | `ai` | reaction_counts | `rc` | text_removals | `tr` |\n',
    '| polls | `poll` | | | | |\n',
  ],
  [
    'test/rights/operations.test.ts',
    'theirs outsider member owner theirKey key theirAs asMember asOwner admin\n',
    `
  polls.create            404    403      ok     ok    401      401 404     ok       ok      401
  polls.list              404    403      ok     ok    401      401 404     ok       ok      401
`.slice(1),
  ],
] as const
