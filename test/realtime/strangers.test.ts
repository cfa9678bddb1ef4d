import { limits } from '@parley/contract'
import { expect, onTestFinished, test } from 'vitest'
import { upTo } from '../support/events.ts'
import { forge } from '../support/forge.ts'
import { NEVER } from '../support/quiet.ts'
import { inSeconds, RawSocket, useSockets } from '../support/socket.ts'
import { RawStream } from '../support/stream.ts'
import { until } from '../support/until.ts'
import { useWorld } from '../support/world.ts'

const world = useWorld({ timings: { connectMs: NEVER } })
const terminatedLater = useSockets()
const { strangersBytes, frameBytes } = limits.realtime

test.each(['http_stream', 'sse'] as const)(
  'strangers on WebSockets share one budget with those on %s',
  async (transport) => {
    const { minted } = await world().user('ana')
    const expired = { payload: { iat: inSeconds(-100), exp: inSeconds(-50) } }
    const connect = { id: 1, connect: { token: forge(minted.wsToken, expired) } }
    const stranger = new RawStream(world(), JSON.stringify(connect), { transport })
    onTestFinished(() => stranger.terminate())
    await stranger.reply(1)
    let isCut = false
    void stranger.closed.then(() => {
      isCut = true
    })
    // Each is a frame that does not end, so its bytes stay in memory.
    for (const _ of upTo(strangersBytes / frameBytes)) {
      expect(isCut).toBe(false)
      const { socket } = await terminatedLater(RawSocket.open(world()))
      socket.send(Buffer.alloc(frameBytes - 16 * 1_024, 'x'), { fin: false })
      await until(() => socket.bufferedAmount === 0)
    }
    for (const _ of upTo(4)) {
      const { socket } = await terminatedLater(RawSocket.open(world()))
      socket.send(Buffer.alloc(frameBytes / 2, 'x'), { fin: false })
    }
    await until(() => isCut)
  },
)
