/** A text that comes after another one, which the file has once. */
export type Insertion = { file: string; after: string; text: string }

/** What polls need in the files of the contract, of the server and of the documents. */
export const insertions: Insertion[] = [
  {
    file: 'contract/contract.ts',
    after: "import { pins } from './pins.ts'\n",
    text: "import { polls } from './polls.ts'\n",
  },
  { file: 'contract/contract.ts', after: '\n  pins,\n', text: '  polls,\n' },
  {
    file: 'contract/contract.ts',
    after: "  pins: 'Pinned messages of a channel.',\n",
    text: "  polls: 'Questions to the members of a channel.',\n",
  },
  {
    file: 'contract/index.ts',
    after: "export { PinnedMessage } from './pins.ts'\n",
    text: "export { Poll } from './polls.ts'\n",
  },
  { file: 'contract/user-export.ts', after: "  'inviteUse',\n", text: "  'poll',\n" },
  {
    file: 'contract/user-export.ts',
    after: "memberships, messages, reactions, read positions, pins, ' +\n",
    text: "    'polls, ' +\n",
  },
  {
    file: 'server/db/schema/index.ts',
    after: "from './messages.ts'\n",
    text: "export { polls } from './polls.ts'\n",
  },
  {
    file: 'server/features/index.ts',
    after: "import { pins } from './pins.ts'\n",
    text: "import { polls } from './polls.ts'\n",
  },
  { file: 'server/features/index.ts', after: '\n  pins,\n', text: '  polls,\n' },
  {
    file: 'server/features/users/export-parts.ts',
    after: `        where wiu.app_id = \${appId}
          and wiu.user_id = \${userId}\`,
  })),
`,
    text: `  byId('poll', (db, { appId, userId }) => ({
    id: db\`poll.id\`,
    data: db\`jsonb_build_object(
      'pollId', poll.id, 'channelId', poll.channel_id, 'text', poll.text
    )\`,
    rows: db\`polls poll
        join channels c on c.id = poll.channel_id and c.deleted_at is null
        where poll.app_id = \${appId}
          and poll.created_by = \${userId}\`,
  })),
`,
  },
  {
    file: 'server/commands/app-file/tables.ts',
    after: "  ofChannels('pins', 'p'),\n",
    text: "  ofChannels('polls', 'poll'),\n",
  },
  {
    file: 'server/jobs/erasure.ts',
    after: "from '../features/users/erase-names.ts'\n",
    text: "import { deletePolls } from '../features/users/erase-polls.ts'\n",
  },
  {
    file: 'server/jobs/erasure.ts',
    after: 'step(({ db }) => remove(db, { ...query(), limit })))\n',
    text: `
  await repeat(context, (limit) => step(({ db }) => deletePolls(db, { ...query(), limit })))
`.slice(1),
  },
  {
    file: 'server/jobs/purge-channels.ts',
    after: "  { table: 'imported_rows' },\n",
    text: "  { table: 'polls', order: ['id'] },\n",
  },
  // Three operations more.
  {
    file: 'client-sdk/scripts/build.js',
    after: 'const MAX_CORE_BYTES = 30_000',
    text: ' + 50',
  },
  {
    file: 'docs/architecture.md',
    after: '| app_imports | `ai` | reaction_counts | `rc` | text_removals | `tr` |\n',
    text: '| polls | `poll` | | | | |\n',
  },
  {
    file: 'docs/privacy.md',
    after: '| pins, by id of who pinned | `pins` | removed, or their message is deleted |\n',
    text: '| polls | `polls` | deleted, or their channel or author is deleted |\n',
  },
  { file: 'docs/privacy.md', after: 'reactions, read positions, pins, ', text: 'polls,\n' },
  { file: 'docs/privacy.md', after: 'and deletes reactions, read marks', text: ',\npolls' },
]
