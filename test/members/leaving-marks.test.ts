import { expect, onTestFinished, test } from 'vitest'
import { useWorld } from '../support/world.ts'

const world = useWorld()

/** A database that cancels statements by their rows: by their time, a busy one cancels any. */
async function cancelLarge() {
  const { db } = world()
  await db.unsafe(`
    create function cancel_large() returns trigger language plpgsql as $$
      begin
        if (select count(*) from gone) > 5000 then
          raise exception using errcode = 'query_canceled';
        end if;
        return null;
      end
    $$;
    create trigger cancel_large after delete on read_marks
    referencing old table as gone
    for each statement execute function cancel_large()`)
  onTestFinished(async () => {
    await db`drop function cancel_large cascade`
  })
}

test('a member with more read marks than are deleted at once leaves, or is removed', async () => {
  const { db, appId } = world()
  const [ana, ben, eve] = await world().users('ana', 'ben', 'eve')
  const memberIds = ['ben', 'eve']
  const { id: channelId } = await ana.channels.create({ type: 'group', name: 'Talk', memberIds })
  await db`
    insert into read_marks (app_id, channel_id, user_id, seq)
    select ${appId}, ${channelId}, id, n
    from unnest(array['ana', 'ben', 'eve']) id, generate_series(1, 12000) n`
  await cancelLarge()
  await expect(eve.members.remove({ channelId, userId: 'ben' })).rejects.toMatchObject({
    code: 'FORBIDDEN',
  })
  await ana.members.remove({ channelId, userId: 'ben' })
  await eve.members.leave({ channelId })
  const marks = await db`
    select user_id, count(*)::int as count
    from read_marks
    where channel_id = ${channelId}
    group by user_id`
  expect(marks).toEqual([{ userId: 'ana', count: 12_000 }])
  await expect(ben.channels.get({ channelId })).rejects.toMatchObject({ code: 'FORBIDDEN' })
})
