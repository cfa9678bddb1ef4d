import { expect, test } from 'vitest'
import { isOffline, liveChatOf } from '../support/chat.ts'
import { useSharedWorld } from '../support/world.ts'

const world = useSharedWorld()

/** A client that was live, and whose network is cut. */
async function cutOff() {
  await world().users('ana')
  const { chat, proxy } = await liveChatOf(world(), 'ana')
  // Those that were connected before need nothing more.
  await chat.connect()
  proxy.cut()
  await isOffline(chat)
  return { chat, proxy }
}

test('connecting while the connection is lost resolves once it is live again', async () => {
  const { chat, proxy } = await cutOff()
  proxy.mend()
  await chat.connect()
  expect(chat.connection.getSnapshot().status).toBe('live')
})

test('connecting while the connection is lost ends with a disconnect', async () => {
  const { chat } = await cutOff()
  const ended = chat.connect()
  chat.disconnect()
  await expect(ended).rejects.toMatchObject({ code: 'ABORTED' })
})
