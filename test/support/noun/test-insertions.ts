import type { Insertion } from './insertions.ts'

/** What polls need in the tests that look at every operation, every id or every table. */
export const insertions: Insertion[] = [
  {
    file: 'test/rights/operations.test.ts',
    after: 'theirs outsider member owner theirKey key theirAs asMember asOwner admin\n',
    text: `
  polls.create            404    403      ok     ok    401      401 404     ok       ok      401
  polls.list              404    403      ok     ok    401      401 404     ok       ok      401
  polls.delete            404    403      403    ok    401      401 404     403      ok      401
`.slice(1),
  },
  {
    file: 'test/rights/fixture.ts',
    after: "    attachments: [{ type: SECRET_WORD, url: 'https://example.com' }],\n  })\n",
    text: '  const { id: pollId } = await owner.polls.create({ channelId, text: SECRET_WORD })\n',
  },
  { file: 'test/rights/fixture.ts', after: 'const ids = { ownerId, ', text: 'pollId, ' },
  {
    file: 'test/rights/fixture.ts',
    after: '    messageIds: () => [messageId],\n',
    text: '    pollId: () => scene.pollId,\n',
  },
  { file: 'test/rights/foreign-ids.test.ts', after: "'quotedMessageId|targetId", text: '|pollId' },
  { file: 'test/rights/foreign-ids.test.ts', after: 'before|after|inviteId', text: '|pollId' },
  { file: 'test/support/hostile/pools.ts', after: '  messageId: 3,\n', text: '  pollId: 3,\n' },
  {
    file: 'test/support/hostile/fixture.ts',
    after: "hero.messages.send({ channelId: first, text: '', streaming: true }),\n  )\n",
    text: `
  const polls = await ifNeeded('pollId', () =>
    hero.polls.create({ channelId: first, text: 'Soup or salad?' }),
  )
`.slice(1),
  },
  {
    file: 'test/support/hostile/fixture.ts',
    after: '      messageId: messages.map(idOf),\n',
    text: '      pollId: polls.map(idOf),\n',
  },
  {
    file: 'test/support/big/beside.ts',
    after: 'export const PINS = limits.pins - 1\n',
    text: `
/** As many polls in the large channel as it has messages. */
export const insertPolls = (db: Db, { appId, large, counts }: App) => db\`
  insert into polls (id, app_id, channel_id, text, created_by)
  select gen_random_uuid(), \${appId}, \${large}, 'Poll ' || n, 'user-' || n % 100
  from generate_series(1, \${counts.messagesInLarge}) n\`
`,
  },
  { file: 'test/support/big/fill.ts', after: 'import { insertPins, ', text: 'insertPolls, ' },
  {
    file: 'test/support/big/fill.ts',
    after: '    await insertPins(db, app)\n',
    text: '    await insertPolls(db, app)\n',
  },
  {
    file: 'test/support/big/of-channels.ts',
    after:
      "'typing.set': { returned: 1, run: () => ana.typing.set({ ...inLarge, typing: true }) },\n",
    text: `
    'polls.list': { returned: 50, run: () => ana.polls.list(inLarge) },
    'polls.create and polls.delete': {
      returned: 2,
      run: async () => {
        const { id: pollId } = await ana.polls.create({ ...inLarge, text: unique() })
        await ana.polls.delete({ ...inLarge, pollId })
      },
    },
`.slice(1),
  },
  {
    file: 'test/app-files/fixture.ts',
    after: '  await ana.pins.pin({ channelId, messageId: root.id })\n',
    text: "  await ana.polls.create({ channelId, text: 'Soup or salad?' })\n",
  },
  {
    file: 'test/operator.test.ts',
    after: '  await ana.pins.pin({ channelId, messageId })\n',
    text: "  await ana.polls.create({ channelId, text: 'Stay?' })\n",
  },
  {
    file: 'test/users/every-table.test.ts',
    after: "  'pins.pinned_by': { erased: 'id', exported: 'pin' },\n",
    text: "  'polls.created_by': { erased: 'gone', exported: 'poll' },\n",
  },
  {
    file: 'test/users/every-table.test.ts',
    after: '  await user.pins.pin(ref)\n',
    text: "  await user.polls.create({ channelId, text: 'Soup or salad?' })\n",
  },
  { file: 'test/support/twin/install.sql', after: "'reactions', 'pins', ", text: "'polls', " },
  {
    file: 'test/tenants/prototype.test.ts',
    after: '  await user.pins.pin({ ...ref, messageId: sent.id })\n',
    text: "  await user.polls.create({ channelId, text: 'of-the-prototype' })\n",
  },
]
