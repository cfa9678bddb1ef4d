import type { ChatMessage, Room } from '@parley/client'
import { createFakeChat } from '@parley/client/testing'
import { describe, expect, test } from 'vitest'
import { GROUP, isLive, isOffline, liveChatOf, ready, texts, until } from '../support/chat.ts'
import { useSharedWorld } from '../support/world.ts'

const world = useSharedWorld()

type Opened = { room: Room; goOffline: () => Promise<unknown>; goOnline: () => Promise<unknown> }

const openFake = async (): Promise<Opened> => {
  const fake = createFakeChat({ me: 'ana', channels: [{ id: 'team', name: 'Team' }] })
  const goTo = (isOnline: boolean) => async () => fake.setOnline(isOnline)
  return { room: fake.channel('team'), goOffline: goTo(false), goOnline: goTo(true) }
}

const openReal = async (): Promise<Opened> => {
  const [ana] = await world().users('ana')
  const { id } = await ana.channels.create({ ...GROUP, memberIds: [] })
  const { chat, proxy } = await liveChatOf(world(), 'ana')
  const room = chat.channel(id)
  for (const store of [room.messages, room.pins]) {
    store.subscribe(() => {})
    await until<{ status: string }>(store, ready)
  }
  const goOffline = () => {
    proxy.cut()
    return isOffline(chat)
  }
  const goOnline = () => {
    proxy.mend()
    chat.wake()
    return isLive(chat)
  }
  return { room, goOffline, goOnline }
}

/** What a room shows of the message with this text. */
const shown = ({ messages }: Room, text: string): ChatMessage | undefined =>
  messages.getSnapshot().items.find((each) => each.text === text)

describe.each([
  ['fake', openFake],
  ['real', openReal],
])('in a %s room', (_, open) => {
  test('a reply to a reply belongs to the thread of the root', async () => {
    const { room } = await open()
    const root = await room.send({ text: 'root' }).sent
    const reply = await room.send({ text: 'reply', parentId: root.id }).sent
    const deep = await room.send({ text: 'deep', parentId: reply.id }).sent
    expect(deep.parentId).toBe(root.id)
    await expect
      .poll(() => ['root', 'reply', 'deep'].map((text) => shown(room, text)?.replyCount))
      .toEqual([2, 0, 0])
    expect(shown(room, 'deep')?.parentId).toBe(root.id)
  })

  test('a quote follows the edits and the deletion of its message', async () => {
    const { room } = await open()
    const quoted = await room.send({ text: 'first' }).sent
    await room.send({ text: 'quoting', quotedMessageId: quoted.id }).sent
    const quote = () => shown(room, 'quoting')?.quotedMessage
    expect(quote()).toMatchObject({ id: quoted.id, text: 'first', deletedAt: null })
    await room.edit(quoted.id, { text: 'edited' })
    await expect.poll(quote).toMatchObject({ id: quoted.id, text: 'edited', deletedAt: null })
    await room.delete(quoted.id)
    await expect
      .poll(quote)
      .toMatchObject({ id: quoted.id, text: '', deletedAt: expect.any(String) })
  })

  test('a message that quotes a deleted one is refused', async () => {
    const { room } = await open()
    const { id } = await room.send({ text: 'gone' }).sent
    await room.delete(id)
    const refusal = { code: 'NOT_FOUND', status: 404, message: 'Quoted message not found' }
    const late = room.send({ text: 'late', quotedMessageId: id })
    await expect(late.sent).rejects.toMatchObject(refusal)
    expect(shown(room, 'late')).toMatchObject({ status: 'failed', error: refusal })
  })

  test('the latest pin is first, and pinning again moves none', async () => {
    const { room } = await open()
    const ids: Record<string, string> = {}
    for (const text of ['a', 'b', 'c']) ids[text] = (await room.send({ text }).sent).id
    for (const text of ['b', 'c', 'a', 'b']) await room.pin(ids[text] ?? '')
    const pins = () => texts(room.pins.getSnapshot())
    await expect.poll(pins).toEqual(['a', 'c', 'b'])
    await room.unpin(ids.b ?? '')
    await room.pin(ids.b ?? '')
    await expect.poll(pins).toEqual(['b', 'a', 'c'])
  })

  test('an edit of an unsent message counts as one once the message is sent', async () => {
    const { room, goOffline, goOnline } = await open()
    await goOffline()
    const draft = room.send({ text: 'draft' })
    const edited = room.edit(draft.clientId, { text: 'better' })
    expect(shown(room, 'better')).toMatchObject({ status: 'pending', editedAt: null })
    await goOnline()
    await Promise.all([draft.sent, edited])
    const sent = { status: 'sent', editedAt: expect.any(String) }
    await expect.poll(() => shown(room, 'better')).toMatchObject(sent)
  })

  test('a reaction is the same however its characters are composed', async () => {
    const { room } = await open()
    const { id } = await room.send({ text: 'reacted' }).sent
    const [composed, decomposed] = ['\u00e9', 'e\u0301']
    const reactions = () => shown(room, 'reacted')?.reactions.map(({ type }) => type)
    await room.react(id, decomposed)
    await expect.poll(reactions).toEqual([composed])
    await room.react(id, composed)
    await expect.poll(reactions).toEqual([composed])
    await room.unreact(id, decomposed)
    await expect.poll(reactions).toEqual([])
  })
})
