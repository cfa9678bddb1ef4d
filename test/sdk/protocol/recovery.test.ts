import { expect, test } from 'vitest'
import { quiet } from '../../support/scripted/index.ts'
import { liveConnection, publication } from '../../support/scripted/peer.ts'

test('the next session continues each topic after its last durable event', async () => {
  const { first, stories, reopened, status } = await liveConnection('a', 'b')
  first.say(
    publication('a', 'one', 1),
    publication('a', 'two', 2),
    publication('a', 'ephemeral'),
    publication('a', 'again', 1),
  )
  first.onclose({ code: 3001, reason: 'shutdown' })
  const second = await reopened()
  await second.accept()
  expect(second.asked('subscribe', 'a').subscribe).toEqual({
    channel: 'a',
    recover: true,
    epoch: 'one',
    offset: 2,
  })
  second.say(
    second.subscribed('a', {
      was_recovering: true,
      recovered: true,
      offset: 2,
      publications: [
        { data: 'three', offset: 3 },
        { data: 'four', offset: 4 },
      ],
    }),
    publication('a', 'five', 5),
    second.subscribed('b', { was_recovering: true, epoch: 'two', offset: 9 }),
  )
  await quiet()
  expect(stories[0]?.slice(-4)).toEqual([
    'recovered one 2',
    'event three',
    'event four',
    'event five',
  ])
  expect([stories[1], status()]).toEqual([['from one 0', 'from two 9'], 'live'])
  second.onclose({ code: 1006, reason: '' })
  const third = await reopened()
  await third.accept()
  expect(third.asked('subscribe', 'a').subscribe).toMatchObject({ epoch: 'one', offset: 5 })
  expect(third.asked('subscribe', 'b').subscribe).toMatchObject({ epoch: 'two', offset: 9 })
})

test('only topics that the server recovered count as recovered, and no new ones', async () => {
  const { first, stories, subscribe } = await liveConnection('a')
  const known = subscribe('b', { epoch: 'one', offset: 7 })
  const fresh = subscribe('c')
  await quiet()
  expect(first.asked('subscribe', 'b').subscribe).toMatchObject({ recover: true, offset: 7 })
  first.say(
    first.subscribed('b', { was_recovering: true, recovered: true, offset: 7 }),
    first.subscribed('c', { recovered: true, offset: 3 }),
  )
  expect([stories[0], known.story, fresh.story]).toEqual([
    ['from one 0'],
    ['recovered one 7'],
    ['from one 3'],
  ])
})

test('a position that the server cannot continue from is given up', async () => {
  const { first, subscribe } = await liveConnection('a')
  const { story } = subscribe('b', { epoch: 'old', offset: 7 })
  await quiet()
  const { id } = first.asked('subscribe', 'b')
  first.say({ id, error: { code: 112, message: 'unrecoverable position' } })
  await quiet()
  expect(first.asked('subscribe', 'b').subscribe).toEqual({ channel: 'b' })
  first.say(first.subscribed('b', { offset: 9 }))
  expect(story).toEqual(['from one 9'])
})

test('a topic that the server does not recover is subscribed again', async () => {
  const { first, connection, reopened, subscribe } = await liveConnection('a')
  subscribe('b')
  await quiet()
  first.say(first.subscribed('b', { recoverable: false }), publication('b', 'x', 3))
  connection.handleSleep()
  const second = await reopened()
  await second.accept()
  expect(second.asked('subscribe', 'b').subscribe).toEqual({ channel: 'b' })
})
