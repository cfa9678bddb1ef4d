import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { migrate } from '@parley/server/db/migrate'
import { readMigrations } from '@parley/server/db/migration-files'
import { expect, onTestFinished, test } from 'vitest'
import { expectExactCounters } from '../imports/records.ts'
import { root } from '../support/consumer.ts'
import { refusal } from '../support/refusal.ts'
import { createReleased, readRelease, releases, releasesFolder } from '../support/releases.ts'
import { createWorld, type User } from '../support/world.ts'

test('the upgrade is tested from every version in the changelog', () => {
  const changelog = readFileSync(join(root, 'CHANGELOG.md'), 'utf8')
  const published = [...changelog.matchAll(/^## (\d+\.\d+\.\d+)/gm)].map(([, version]) => version)
  expect(releases.map(({ version }) => version)).toEqual(published.toReversed())
  expect(readdirSync(releasesFolder).toSorted()).toEqual(published.toSorted())
})

for (const release of releases) {
  const { version, last, rev, isFenced } = release

  test(`statements of ${version} are understood after each later migration`, async () => {
    const { sql } = await createReleased(release)
    const statements = readRelease(version, 'statements.sql')
    expect(statements.length).toBeGreaterThan(100)
    const migrations = readMigrations()
    const later = migrations.slice(migrations.findIndex(({ name }) => name === last) + 1)
    for (const migration of later) {
      for (const statement of migration.statements) await sql.unsafe(statement)
      const faults: string[] = []
      for (const statement of statements)
        await sql
          .unsafe(statement)
          .describe()
          .catch(({ message }) => faults.push(`${message}: ${statement.slice(0, 200)}`))
      expect(faults, migration.name).toEqual([])
    }
  })

  test(`a database of ${version} goes on with all that it had`, async () => {
    const { url, sql } = await createReleased(release)
    await migrate(url)
    const world = await createWorld({ databaseUrl: url })
    onTestFinished(() => world.stop())
    const [key] = await sql`
      select ak.app_id as "appId"
      from api_keys ak
      join apps a on a.id = ak.app_id and a.name = 'Released'`
    const appId = String(key?.appId)
    const { apiKey } = await world.operator.apps.createKey({ appId, name: 'After the upgrade' })
    const backend = world.api({ apiKey })
    const [ana, ben, cleo] = await Promise.all(
      ['ana', 'ben', 'cleo'].map((id) => world.user(id, {}, backend)),
    )
    if (!ana || !ben || !cleo) throw new Error('unreachable')
    // The lists equal the answers of a server of that version before it was stopped.
    const listed = async (user: User) =>
      (await user.channels.list({})).channels.map(({ name, unreadCount, memberCount }) => [
        ...[name, unreadCount, memberCount],
      ])
    expect(await listed(ana)).toEqual([
      ['Plans', 0, 1],
      ['Ben', 1, 2],
      ['Kitchen', 28, 3],
    ])
    expect(await listed(ben)).toEqual([
      ['Gardening', 1, 2],
      ['Ana', 0, 2],
      ['Kitchen', 0, 3],
    ])
    expect(await listed(cleo)).toEqual([
      ['Gardening', 0, 2],
      ['Kitchen', 0, 3],
    ])
    const { channels } = await ben.channels.list({})
    const kitchen = channels.find(({ name }) => name === 'Kitchen')
    const channelId = kitchen?.id ?? ''
    const { messages } = await ben.messages.list({ channelId, limit: 100 })
    expect(messages).toHaveLength(44)
    const [first, second] = messages
    expect(first).toMatchObject({
      ...{ text: 'Soup today? https://example.com/soup', seq: 1, rev, replyCount: 1 },
      ...{ pinned: true, reactions: [{ type: '👍', count: 1, own: true }] },
    })
    expect(second).toMatchObject({ text: 'Yes, of course @ana', mentions: ['ana'] })
    const replies = await ben.messages.replies({ channelId, messageId: first?.id ?? '' })
    expect(replies.messages.map(({ text }) => text)).toEqual(['Which one?'])
    const found = await ana.channels.list({ discover: true, q: 'garden' })
    expect(found.channels.map(({ name }) => name)).toEqual(['Gardening'])
    expect((await ana.users.list({ q: 'cle' })).users.map(({ id }) => id)).toEqual(['cleo'])
    expect(await refusal(ana.users.get({ userId: 'dan' }))).toMatchObject({ status: 404 })
    expect((await ben.workspaces.list({})).workspaces).toMatchObject([{ name: 'Team' }])

    // The channel accepts messages, and its counters continue from the old values.
    const sent = await ana.messages.send({ channelId, text: 'After', parentId: first?.id })
    expect(sent.seq).toBe(48)
    await backend.messages.delete({ channelId, messageId: second?.id ?? '' })
    await backend.messages.delete({ channelId, messageId: messages[20]?.id ?? '' })
    expect(await listed(ana)).toContainEqual(['Kitchen', 26, 3])
    expect(await listed(cleo)).toContainEqual(['Kitchen', 1, 3])
    expect(await listed(ben)).toContainEqual(['Kitchen', 1, 3])
    await ben.reads.mark({ channelId, messageId: messages[10]?.id ?? '' })
    await ben.reactions.add({ channelId, messageId: sent.id, emoji: '🍅' })
    await ben.pins.pin({ channelId, messageId: sent.id })
    await ana.members.remove({ channelId, userId: 'cleo' })
    await expectExactCounters({ db: world.db, appId })
  })

  if (isFenced)
    test(`a write by an old server of ${version} fails as a whole after a migration`, async () => {
      const { url, sql } = await createReleased(release)
      await migrate(url)
      const emit = readRelease(version, 'statements.sql').find((text) =>
        /^insert into events/m.test(text),
      )
      const [channel] = await sql`
        select c.id, c.rev, c.last_seq as "lastSeq"
        from channels c
        where c.name = 'Kitchen'`
      const [ids, revs, seqs] = [[channel?.id], [channel?.rev + 1], [channel?.lastSeq + 1]]
      const event = [['chat:x'], [1], ['{"type":"message.new"}'], [null]]
      await expect(sql.unsafe(emit ?? '', [ids, revs, seqs, ...event])).rejects.toThrow(
        /null value in column "type" of relation "events"/,
      )
      const after = await sql`
        select c.id, c.rev, c.last_seq as "lastSeq"
        from channels c
        where c.name = 'Kitchen'`
      expect(after[0]).toEqual(channel)
    })
}
