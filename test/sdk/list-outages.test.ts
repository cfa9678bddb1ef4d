import { expect, test } from 'vitest'
import { isLive, isOffline, ready, until } from '../support/chat.ts'
import { quiet, scriptedChat } from '../support/scripted/index.ts'
import { stoppedClock } from '../support/scripted/time.ts'

const LIST = /^GET \/api\/channels\?/
const SYNC = /^POST \/api\/sync$/

/** A list whose first load was asked for before an outage, and is not answered yet. */
async function overtakenLoad() {
  const server = scriptedChat()
  const { chat, channel, cut, mend, loseEvents, hold } = server
  channel('a').send('before')
  const list = chat.channels()
  const first = hold(LIST)
  list.subscribe(() => {})
  chat.connect().catch(() => {})
  await first.asked
  cut()
  await isOffline(chat)
  loseEvents()
  channel('b').send('meanwhile')
  mend()
  chat.wake()
  await quiet()
  const end = async (answer?: Response) => {
    first.release(answer)
    await isLive(chat)
    await quiet()
    return list.getSnapshot()
  }
  return { ...server, list, end }
}

test('a list whose first load outlasts an outage shows what came meanwhile', async () => {
  const { end } = await overtakenLoad()
  const { items, status } = await end()
  expect([items.map(({ id }) => id), status]).toEqual([['b', 'a'], 'ready'])
})

test('a list is loaded after an outage, whatever becomes of a load from before it', async () => {
  const { chat, list, count } = await overtakenLoad()
  await isLive(chat)
  const { items } = await until(list, ready)
  expect(items.map(({ id }) => id)).toEqual(['b', 'a'])
  expect(count(LIST)).toBe(2)
})

test('a load from before an outage that fails after it does not fail a newer one', async () => {
  const { end } = await overtakenLoad()
  const error = { code: 'INTERNAL_ERROR', message: 'too late' }
  expect(await end(Response.json({ error }, { status: 500 }))).toMatchObject({ status: 'ready' })
})

/** Makes channels, each a second newer than the one before. */
function sendInTurn(channel: ReturnType<typeof scriptedChat>['channel'], count: number) {
  for (let n = 1; n <= count; n++) {
    const { send } = channel(`${n}`)
    for (let sent = 0; sent < n; sent++) send(`${sent}`)
  }
}

test('after an outage without a gap a list goes as far down as it was paged', async () => {
  const { chat, channel, cut, mend } = scriptedChat()
  sendInTurn(channel, 120)
  const list = chat.channels()
  list.subscribe(() => {})
  await chat.connect()
  await until(list, ready)
  await list.loadMore()
  cut()
  await isOffline(chat)
  mend()
  chat.wake()
  await isLive(chat)
  expect(list.getSnapshot().items).toHaveLength(100)
})

/** A list that is paged to its end, and what it shows after a short outage once it is again. */
async function pagedToTheEnd() {
  const server = scriptedChat()
  const { chat, channel, cut, mend } = server
  sendInTurn(channel, 80)
  const list = chat.channels()
  list.subscribe(() => {})
  await chat.connect()
  await until(list, ready)
  await list.loadMore()
  expect(list.getSnapshot().items).toHaveLength(80)
  const pagedAfterOutage = async () => {
    cut()
    await isOffline(chat)
    mend()
    chat.wake()
    await isLive(chat)
    await until(list, ready)
    await list.loadMore()
    return list.getSnapshot().items.map(({ id }) => id)
  }
  return { ...server, pagedAfterOutage }
}

test('a channel that was added unnoticed can be paged to, even if a load is lost', async () => {
  const { chat, channel, cut, mend, loseEvents, hold, pagedAfterOutage } = await pagedToTheEnd()
  cut()
  await isOffline(chat)
  channel('added')
  loseEvents()
  const lost = hold(LIST)
  mend()
  chat.wake()
  await lost.asked
  expect(await pagedAfterOutage()).toContain('added')
})

test('a gap that appears while a list fills the one before it is filled, too', async () => {
  const { channel, loseEvents, endTopic, hold, pagedAfterOutage } = await pagedToTheEnd()
  const first = hold(LIST)
  loseEvents()
  endTopic('user:app:me')
  await first.asked
  channel('added')
  loseEvents()
  endTopic('user:app:me')
  await quiet()
  const lost = hold(LIST)
  first.release()
  await lost.asked
  expect(await pagedAfterOutage()).toContain('added')
})

test('a list that is read before its topics are there costs one call, total included', async () => {
  const { chat, channel, requests } = scriptedChat()
  channel('a').send('hello')
  const list = chat.channels()
  chat.connection.subscribe(() => list.getSnapshot())
  await chat.connect()
  await until(list, ready)
  expect(requests.map((request) => request.split('?')[0])).toEqual(['GET /api/channels'])
})

test('a list brings the total of unread messages with its first page alone', async () => {
  const { chat, channel, data, cut, mend, loseEvents, requests } = scriptedChat()
  for (let n = 100; n < 260; n++) channel(`c${n}`)
  data.total = 3
  await chat.connect()
  const list = chat.channels()
  await until(list, ready)
  for (let page = 0; page < 3; page++) await list.loadMore()
  cut()
  await isOffline(chat)
  data.total = 5
  loseEvents()
  mend()
  chat.wake()
  await isLive(chat)
  const { items, totalUnread } = await until(list, ready)
  expect([items.length, totalUnread]).toEqual([160, 5])
  const pages = requests.flatMap((request) => LIST.test(request) || [])
  const counted = requests.filter((request) => request.includes('total=true'))
  expect([pages.length, counted.length]).toEqual([6, 2])
})

test('a total asked for before an outage does not replace a newer one', async () => {
  const { chat, data, hold, cut, mend } = scriptedChat()
  data.total = 5
  const first = hold(SYNC)
  chat.connect().catch(() => {})
  await first.asked
  cut()
  await isOffline(chat)
  data.total = 7
  mend()
  chat.wake()
  await until(chat.unread, ({ total }) => total === 7)
  first.release()
  await quiet()
  expect(chat.unread.getSnapshot().total).toBe(7)
})

test('a page without lists asks for the total when the server has ended its topic', async () => {
  const { chat, data, loseEvents, endTopic, requests } = scriptedChat()
  data.total = 5
  await chat.connect()
  await until(chat.unread, ({ total }) => total === 5)
  data.total = 7
  loseEvents()
  endTopic('user:app:me')
  await until(chat.unread, ({ total }) => total === 7)
  expect(requests).toEqual(['POST /api/sync', 'POST /api/sync'])
})

test('a list that is being paged when its events are lost shows what came meanwhile', async () => {
  const { chat, channel, loseEvents, endTopic, hold } = scriptedChat()
  channel('a')
  const last = channel('b')
  for (let n = 100; n < 160; n++) channel(`c${n}`)
  await chat.connect()
  const list = chat.channels()
  list.subscribe(() => {})
  await until(list, ready)
  await quiet()
  const page = hold(LIST)
  const paged = list.loadMore()
  await page.asked
  loseEvents()
  last.own.unreadCount = 5
  channel('new').send('hello')
  endTopic('user:app:me')
  await quiet()
  page.release()
  await paged
  for (const _ of [1, 2]) await quiet()
  const { items, status } = list.getSnapshot()
  expect([items[0]?.id, status]).toEqual(['new', 'ready'])
  expect(items.find(({ id }) => id === 'b')?.unreadCount).toBe(5)
})

test('a list that fails while the client is disconnected waits for its connection', async () => {
  const clock = stoppedClock()
  const { chat, count, refuseRequests } = scriptedChat()
  await chat.connect()
  chat.disconnect()
  refuseRequests(LIST)
  const list = chat.channels()
  list.subscribe(() => {})
  for (let second = 0; second < 5; second++) await clock.forward(1_000)
  const asked = count(LIST)
  expect([list.getSnapshot().status, asked > 0]).toEqual(['failed', true])
  for (let minute = 0; minute < 5; minute++) await clock.forward(60_000)
  expect(count(LIST)).toBe(asked)
  refuseRequests()
  void chat.connect()
  await until(list, ready)
})
