import { expect, test } from 'vitest'
import { erased } from './support/cleanup.ts'
import { type User, useWorld } from './support/world.ts'

const world = useWorld()

const MESSAGES = 1_700

/** Messages of ana, ben and cem in turn. */
async function createTalk(size = MESSAGES) {
  const { db, appId } = world()
  const [ana] = await world().users('ana', 'ben', 'cem')
  const memberIds = ['ben', 'cem']
  const { id: channelId } = await ana.channels.create({ type: 'group', name: 'Talk', memberIds })
  await db`
    insert into messages (
      id, app_id, channel_id, user_id, seq, rev, author_seq, text, mentions, attachments
    )
    select
      gen_random_uuid(), ${appId}, ${channelId}, (array['ana', 'ben', 'cem'])[n % 3 + 1], n, n,
      n / 3 + (n % 3 > 0)::int, 'hello', '{}', '[]'
    from generate_series(1, ${size}) n`
  await db`
    update channels
    set last_seq = ${size}, rev = ${size}
    where app_id = ${appId}
      and id = ${channelId}`
  const ids = await db<{ id: string }[]>`
    select id
    from messages
    where channel_id = ${channelId}
    order by seq`
  const remove = (seq: number) =>
    world().backend.messages.delete({ channelId, messageId: ids[seq - 1]?.id ?? '' })
  return { channelId, remove }
}

/** The user's unread count, as shown and as it must be, with their marker at each of these. */
async function countsAt(user: User, channelId: string, markers: number[]) {
  const { db, appId } = world()
  const counts: { marker: number; shown: number; expected: number | undefined }[] = []
  for (const marker of markers) {
    await db`
      update members
      set unread_after_seq = ${marker}
      where app_id = ${appId}
        and channel_id = ${channelId}
        and user_id = ${user.id}`
    const [row] = await db<{ count: number }[]>`
      select count(*)::int
      from messages
      where channel_id = ${channelId}
        and seq > ${marker}
        and user_id <> ${user.id}
        and deleted_at is null
        and silent is not true`
    const { unreadCount } = await user.channels.get({ channelId })
    counts.push({ marker, shown: unreadCount, expected: row?.count })
  }
  return counts
}

test('unread counts leave out deleted messages, wherever the read marker is', async () => {
  const { channelId, remove } = await createTalk()
  const ends = [1, 499, 500, 501, 999, 1_000, 1_001, 1_500, 1_501, MESSAGES - 1, MESSAGES]
  const markers = [0, ...ends.flatMap((end) => [end - 1, end]), 750]
  for (const seq of [...ends, 2, 3, 4, 502, 503, 998, 1_002, 1_600]) await remove(seq)
  const [ana, ben] = await world().users('ana', 'ben')
  for (const user of [ana, ben])
    for (const { marker, shown, expected } of await countsAt(user, channelId, markers))
      expect(shown, `${user.id} after ${marker}`).toBe(expected)
})

test('unread counts leave out the messages of a user who was erased', async () => {
  const { channelId, remove } = await createTalk()
  for (const seq of [2, 3, 4, 5, 600, 601, 602]) await remove(seq)
  await world().backend.users.delete({ userId: 'cem' })
  await erased(world())
  const [ana] = await world().users('ana')
  const counts = await countsAt(ana, channelId, [0, 2, 499, 500, 601, 1_200, MESSAGES])
  for (const { marker, shown, expected } of counts) expect(shown, `after ${marker}`).toBe(expected)
  expect(counts[0]?.shown).toBeLessThan(MESSAGES / 2)
})

test('unread counts omit silent messages, deleted or not, wherever the marker is', async () => {
  const { channelId } = await createTalk(495)
  const [ana, ben, cem] = await world().users('ana', 'ben', 'cem')
  const sent: string[] = []
  const isSilent = [true, false, true, true, true, false, true, true, false, true, true, false]
  for (const [index, silent] of isSilent.entries()) {
    const author = index % 3 === 0 ? ana : ben
    const message = await author.messages.send({ channelId, text: `${index}`, silent })
    expect(message.silent).toBe(silent || undefined)
    expect((await cem.messages.get({ channelId, messageId: message.id })).silent).toBe(
      silent || undefined,
    )
    sent.push(message.id)
  }
  const batch = ['x', 'y', 'z'].map((text) =>
    ben.messages.send({ channelId, text, silent: text !== 'y' }),
  )
  await Promise.all(batch)
  const markers = [0, 400, ...Array.from({ length: 16 }, (_, index) => 494 + index)]
  const check = async () => {
    for (const user of [ana, ben, cem])
      for (const { marker, shown, expected } of await countsAt(user, channelId, markers))
        expect(shown, `${user.id} after ${marker}`).toBe(expected)
  }
  await check()
  for (const index of [0, 1, 4, 5, 6, 7]) {
    const messageId = sent[index] ?? ''
    await world().backend.messages.delete({ channelId, messageId })
  }
  await check()
  await world().backend.users.delete({ userId: 'ben' })
  await erased(world())
  for (const { marker, shown, expected } of await countsAt(cem, channelId, markers))
    expect(shown, `after ${marker}, without ben`).toBe(expected)
})
