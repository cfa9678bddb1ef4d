import { beforeAll, describe, expect, test } from 'vitest'
import { liveChatOf, until } from './support/chat.ts'
import { channelEventsOf } from './support/events.ts'
import { forbidden, refusal, refusals } from './support/refusal.ts'
import { type User, useSharedWorld } from './support/world.ts'

const world = useSharedWorld()
let ana: User
let ben: User
beforeAll(async () => {
  ;[ana, ben] = await world().users('ana', 'ben')
})
const backend = () => world().backend
const createPrivate = () =>
  ana.channels.create({ type: 'private', name: 'Talk', memberIds: ['ben'] })

describe('a frozen channel', () => {
  test('takes messages of the backend only, until it is thawed', async () => {
    const { id: channelId } = await createPrivate()
    const frozen = await backend().channels.update({ channelId, frozen: true })
    expect(frozen.frozen).toBe(true)
    expect((await ben.channels.get({ channelId })).frozen).toBe(true)
    const asAna = world().api({ apiKey: world().apiKey, userId: 'ana' })
    expect(
      await refusals([
        ana.messages.send({ channelId, text: 'x' }),
        asAna.messages.send({ channelId, text: 'x' }),
        ana.channels.update({ channelId, frozen: false }),
        asAna.channels.update({ channelId, frozen: false }),
      ]),
    ).toEqual([forbidden, forbidden, forbidden, forbidden])
    expect((await backend().messages.send({ channelId, text: 'closed' })).type).toBe('system')
    expect(await backend().channels.update({ channelId, frozen: true })).toMatchObject({
      frozen: true,
    })
    await ana.channels.update({ channelId, name: 'Still mine' })
    expect((await backend().channels.update({ channelId, frozen: false })).frozen).toBe(false)
    await ana.messages.send({ channelId, text: 'open' })
    const events = (await channelEventsOf(world(), channelId)).filter(
      ({ type }) => type === 'channel.updated',
    )
    expect(events.map(({ payload }) => Object(payload.channel).frozen)).toEqual([true, true, false])
  })

  test('may be a direct message, which goes on showing each of its users the other', async () => {
    const { id: channelId } = await ana.channels.create({ type: 'messaging', memberIds: ['ben'] })
    const { chat } = await liveChatOf(world(), 'ben')
    const list = chat.channels()
    const shown = () => list.getSnapshot().items.find(({ id }) => id === channelId)
    await until(list, () => shown()?.name === 'ana')
    const frozen = await backend().channels.update({
      channelId,
      frozen: true,
      custom: { case: 4 },
    })
    expect(frozen).toMatchObject({ frozen: true, custom: { case: 4 }, name: 'ana, ben' })
    await until(list, () => shown()?.frozen === true)
    expect(shown()).toMatchObject({ name: 'ana', image: null, custom: { case: 4 } })
    const asAna = world().api({ apiKey: world().apiKey, userId: 'ana' })
    expect(
      await refusals([
        ben.messages.send({ channelId, text: 'x' }),
        ana.channels.update({ channelId, custom: { case: 5 } }),
        asAna.channels.update({ channelId, frozen: false }),
        backend().channels.update({ channelId, image: null }),
        backend().channels.update({ channelId, name: 'Ours', frozen: false }),
      ]),
    ).toEqual([forbidden, forbidden, forbidden, forbidden, forbidden])
    const [event] = (await channelEventsOf(world(), channelId)).filter(
      ({ type }) => type === 'channel.updated',
    )
    expect(event?.payload.channel).toMatchObject({ frozen: true, name: 'ana, ben', image: null })
  })

  test('a repeated send is answered as before, and a refused send adds no member', async () => {
    const { id: channelId } = await ana.channels.create({ type: 'public', name: 'Hall' })
    const sent = await ana.messages.send({ channelId, text: 'x', clientId: 'first' })
    await backend().channels.update({ channelId, frozen: true })
    expect((await ana.messages.send({ channelId, text: 'x', clientId: 'first' })).id).toBe(sent.id)
    expect(await refusal(ben.messages.send({ channelId, text: 'y' }))).toEqual(forbidden)
    expect((await backend().channels.get({ channelId })).memberCount).toBe(1)
  })

  test('gets no message of a user after it is frozen, however many were on their way', async () => {
    const { id: channelId } = await createPrivate()
    const send = (index: number) =>
      (index % 2 === 0 ? ana : ben).messages.send({ channelId, text: `${index}` }).catch(() => null)
    const early = Array.from({ length: 8 }, (_, index) => send(index))
    const freezing = backend().channels.update({ channelId, frozen: true })
    const late = Array.from({ length: 8 }, (_, index) => send(8 + index))
    await Promise.all([...early, freezing, ...late])
    const types = (await channelEventsOf(world(), channelId)).map(({ type }) => type)
    expect(types.lastIndexOf('message.new')).toBeLessThan(types.indexOf('channel.updated'))
  })
})
