import { expect, test } from 'vitest'
import { contractPackages, createConsumer, installPacked, nodeStyle } from '../support/consumer.ts'
import { useWorld } from '../support/world.ts'

const world = useWorld()

test('the packed contract alone gives a typed tRPC client that works', async () => {
  const consumer = createConsumer('trpc.ts', contractPackages)
  await installPacked('contract', consumer.folder)
  await consumer.compile(7, nodeStyle)
  // packages.long.ts compiles it with the other compiler, and as bundlers find packages.

  const { token } = await world().user('ana')
  expect(await consumer.run(world().url, token)).toEqual({
    text: 'one',
    seqs: [1, 2],
    unread: { count: 0, version: expect.any(Number) },
    missing: { code: 'NOT_FOUND', httpStatus: 404, message: 'Channel not found' },
    malformed: {
      code: 'VALIDATION_ERROR',
      httpStatus: 400,
      message: expect.stringContaining('limit'),
    },
    requests: [
      '/trpc/channels.create',
      '/trpc/messages.send,messages.send',
      '/trpc/messages.list,reads.unreadCount,channels.get,channels.list',
    ],
    isMessage: true,
    path: '/api/channels/{channelId}/messages',
  })
})
