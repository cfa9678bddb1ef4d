import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { channelEventsOf } from '../support/events.ts'
import {
  complaint,
  forbidden,
  invalid,
  notFound,
  refusal,
  refusals,
  unauthorized,
} from '../support/refusal.ts'
import { ADMIN_KEY, useWorld } from '../support/world.ts'
import { talkIn } from './fixture.ts'

const world = useWorld()
const talk = talkIn(world)

/** Makes a message older. */
const age = (messageId: string, by: string) => world().db`
  update messages
  set created_at = clock_timestamp() - ${by}::interval
  where id = ${messageId}`

describe('editing a message', () => {
  test('an edit replaces the text and its mentions', async () => {
    const { ana, ben, channelId, say } = await talk()
    const sent = await say('hi @ben')
    await ben.reactions.add({ channelId, messageId: sent.id, emoji: '👍' })
    await age(sent.id, '1 year')
    const edited = await ana.messages.edit({ channelId, messageId: sent.id, text: 'hi @cem' })
    expect(edited).toMatchObject({
      id: sent.id,
      seq: 1,
      text: 'hi @cem',
      mentions: ['cem'],
      editedAt: expect.any(String),
      reactions: [{ type: '👍', own: false }],
      rev: 5,
    })
    expect(edited.updatedAt).toBe(edited.editedAt)
    expect(await ana.messages.get({ channelId, messageId: sent.id })).toEqual(edited)
    expect((await channelEventsOf(world(), channelId)).at(-1)).toMatchObject({
      type: 'message.updated',
      offset: 5,
      payload: { message: edited },
    })
  })

  test('the response to an edit marks own reactions, and its event marks none', async () => {
    const { ana, channelId, say } = await talk()
    const ref = { channelId, messageId: (await say('hi')).id }
    await ana.reactions.add({ ...ref, emoji: '👍' })
    const edited = await ana.messages.edit({ ...ref, text: 'ho' })
    expect(edited.reactions).toMatchObject([{ type: '👍', own: true }])
    expect((await channelEventsOf(world(), channelId)).at(-1)).toMatchObject({
      type: 'message.updated',
      payload: { message: { text: 'ho', reactions: [{ type: '👍', own: false }] } },
    })
  })

  test('an edit changes updatedAt and keeps createdAt', async () => {
    const { ana, ben, channelId, say } = await talk()
    const sent = await say('first')
    expect(sent.updatedAt).toBe(sent.createdAt)
    await ben.reactions.add({ channelId, messageId: sent.id, emoji: '👍' })
    expect(await ana.messages.get({ channelId, messageId: sent.id })).toMatchObject({
      createdAt: sent.createdAt,
      updatedAt: sent.updatedAt,
    })
    const edited = await ana.messages.edit({ channelId, messageId: sent.id, text: 'second' })
    expect(edited.createdAt).toBe(sent.createdAt)
    expect(Date.parse(edited.updatedAt)).toBeGreaterThan(Date.parse(sent.updatedAt))
  })

  test('a message edit that changes nothing emits no event', async () => {
    const { ana, channelId, say } = await talk()
    const sent = await say('same')
    expect(await ana.messages.edit({ channelId, messageId: sent.id, text: 'same' })).toEqual(sent)
    expect(await channelEventsOf(world(), channelId)).toHaveLength(3)
  })

  test('an edit that another overtook is a conflict, and a repeated one is not', async () => {
    const { ana, channelId, say } = await talk()
    const { id: messageId, editedAt: ifEditedAt } = await say('as sent')
    const edit = (text: string) => ana.messages.edit({ channelId, messageId, text, ifEditedAt })
    const first = await edit('here')
    expect(await edit('here')).toEqual(first)
    await ana.messages.edit({ channelId, messageId, text: 'there' })
    expect(await refusal(edit('here'))).toEqual({ status: 409, code: 'CONFLICT' })
    const { text, editedAt } = await ana.messages.get({ channelId, messageId })
    expect(text).toBe('there')
    const seen = { channelId, messageId, ifEditedAt: editedAt }
    expect(await ana.messages.edit({ ...seen, text: 'here again' })).toMatchObject({
      text: 'here again',
    })
  })

  test('only the author edits a message', async () => {
    const { ana, ben, cem, channelId, say } = await talk()
    const { id: messageId } = await say('mine')
    const foreign = await ben.messages.send({ channelId, text: 'yours' })
    for (const user of [ben, cem])
      expect(await refusal(user.messages.edit({ channelId, messageId, text: 'x' }))).toEqual(
        forbidden,
      )
    expect(
      await refusal(ana.messages.edit({ channelId, messageId: foreign.id, text: 'x' })),
    ).toEqual(forbidden)
    expect(
      await refusal(
        world().api({ apiKey: world().apiKey }).messages.edit({ channelId, messageId, text: 'x' }),
      ),
    ).toEqual(unauthorized)
  })

  test('an edit requires a text, unless the message has an attachment', async () => {
    const { ana, channelId, say } = await talk()
    const plain = await say('words')
    const picture = await ana.messages.send({
      channelId,
      text: 'look',
      attachments: [{ type: 'image', url: 'https://example.com/cat.png' }],
    })
    for (const text of ['', 'x'.repeat(10_001), 7 as unknown as string])
      expect(await refusal(ana.messages.edit({ channelId, messageId: plain.id, text }))).toEqual(
        invalid,
      )
    expect(await ana.messages.edit({ channelId, messageId: picture.id, text: '' })).toMatchObject({
      text: '',
      attachments: picture.attachments,
    })
  })
})

describe('deleting a message', () => {
  test('a deleted message leaves a tombstone and none of its content anywhere', async () => {
    const { ana, ben, channelId, say } = await talk()
    const { id: messageId } = await ana.messages.send({
      channelId,
      text: 'first secret @ben',
      attachments: [{ type: 'image', url: 'https://example.com/secret.png' }],
    })
    const ref = { channelId, messageId }
    await ben.reactions.add({ ...ref, emoji: '👍' })
    await ben.pins.pin(ref)
    await ana.messages.edit({ ...ref, text: 'second secret @cem' })
    await ana.members.add({ channelId, userIds: ['cem'] })
    await say('after')
    const answer = await ana.messages.delete(ref)
    expect(answer).toEqual({ success: true, messageId, deletedAt: expect.any(String) })
    const stored = await world().db<{ row: string }[]>`
      select msg::text as row from messages msg
      union all
      select e::text from events e
      union all
      select r::text from reactions r where message_id = ${messageId}
      union all
      select p::text from pins p where message_id = ${messageId}`
    expect(stored.filter(({ row }) => /secret/.test(row))).toEqual([])
    const [tombstone] = (await ben.messages.list({ channelId, since_seq: 0 })).messages
    expect(tombstone).toMatchObject({
      id: messageId,
      seq: 1,
      text: '',
      mentions: [],
      attachments: [],
      reactions: [],
      pinned: false,
      deletedAt: answer.deletedAt,
    })
    const emitted = (await channelEventsOf(world(), channelId)).filter(
      ({ payload }) => payload.messageId === messageId,
    )
    expect(emitted.map(({ type, payload }) => [type, payload])).toEqual(
      Array.from({ length: 5 }, () => [
        'message.deleted',
        { ...ref, seq: 1, deletedAt: answer.deletedAt },
      ]),
    )
    expect((await ben.channels.get({ channelId })).lastMessage).toMatchObject({ text: 'after' })
    expect((await ben.messages.list({ channelId })).messages.map(({ seq }) => seq)).toEqual([2])
  })

  test('a deleted message is not found by later calls', async () => {
    const { ana, ben, channelId, say } = await talk()
    const ref = { channelId, messageId: (await say('once')).id }
    await ana.messages.delete(ref)
    const calls = [
      ana.messages.delete(ref),
      ana.messages.edit({ ...ref, text: 'x' }),
      ana.messages.get(ref),
      ben.messages.get(ref),
      world().backend.messages.delete(ref),
    ]
    for (const call of await refusals(calls)) expect(call).toEqual(notFound)
    expect((await say('next')).seq).toBe(2)
  })

  test('the author deletes a message within 15 minutes, by the clock of the database', async () => {
    const { ana, ben, channelId, say } = await talk()
    const foreign = {
      channelId,
      messageId: (await ben.messages.send({ channelId, text: 'yours' })).id,
    }
    expect(await refusal(ana.messages.delete(foreign))).toEqual(forbidden)
    const young = { channelId, messageId: (await say('young')).id }
    const old = { channelId, messageId: (await say('old')).id }
    await age(old.messageId, '15 minutes 1 second')
    expect(await refusal(ana.messages.delete(old))).toEqual(forbidden)
    expect(await complaint(ana.messages.delete(old))).toContain('within 15 minutes')
    // Last, since it has only 5 s left.
    await age(young.messageId, '14 minutes')
    expect(await ana.messages.delete(young)).toMatchObject({ success: true })
    expect((await ana.messages.get(old)).text).toBe('old')
  })

  test.each([-1, 1])('a server clock %i hours off does not change the window', async (hours) => {
    onTestFinished(() => void vi.useRealTimers())
    const { ana, channelId, say } = await talk()
    const young = { channelId, messageId: (await say('young')).id }
    const old = { channelId, messageId: (await say('old')).id }
    await age(old.messageId, '15 minutes 1 second')
    vi.setSystemTime(Date.now() + hours * 3_600_000)
    expect(await refusal(ana.messages.delete(old))).toEqual(forbidden)
    const { deletedAt } = await ana.messages.delete(young)
    vi.useRealTimers()
    expect(Math.abs(Date.parse(deletedAt) - Date.now())).toBeLessThan(60_000)
  })

  test('a backend deletes messages of any age in its own app', async () => {
    const { ana, channelId, say } = await talk('private')
    const ref = { channelId, messageId: (await say('old')).id }
    await age(ref.messageId, '1 year')
    const { apiKey } = await world().api({ adminKey: ADMIN_KEY }).apps.create({ name: 'Other' })
    expect(await refusal(world().api({ apiKey }).messages.delete(ref))).toEqual(notFound)
    expect(await refusal(world().api({ apiKey: 'pk_wrong' }).messages.delete(ref))).toEqual(
      unauthorized,
    )
    expect(await world().backend.messages.delete(ref)).toMatchObject({
      success: true,
      messageId: ref.messageId,
    })
    expect(await refusal(ana.messages.get(ref))).toEqual(notFound)
  })
})
