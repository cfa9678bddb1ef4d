import { limits } from '@parley/contract'
import { expect, test } from 'vitest'
import { upTo } from '../support/events.ts'
import { RawSocket, useSockets } from '../support/socket.ts'
import { until } from '../support/until.ts'
import { useWorld } from '../support/world.ts'

const MB = 2 ** 20
const world = useWorld({ sendMemoryBytes: 4.5 * MB })
const terminatedLater = useSockets()

test('if too many frames do not end, the largest are cut, whatever pings say', async () => {
  const ana = await world().user('ana')
  const connect = () => terminatedLater(RawSocket.connect(world(), ana))
  const other = await connect()
  const cut: number[] = []
  for (const index of upTo(8)) {
    const { socket, closed } = await connect()
    void closed.then(({ code }) => code === 1006 && cut.push(index))
    socket.send(Buffer.alloc(limits.realtime.frameBytes - 2 - index, 'x'), { fin: false })
    socket.ping()
  }
  await until(() => cut.length === 4)
  const { socketsCut } = world().metrics
  expect((await socketsCut.get()).values[0]?.value).toBe(4)
  expect(cut.toSorted()).toEqual([1, 2, 3, 4])
  // The pings of a client that sends messages as well are of no weight.
  for (const _ of upTo(20)) other.socket.ping(Buffer.alloc(100))
  expect(await other.ask({ id: 2, unsubscribe: { channel: 'none' } })).toHaveProperty('unsubscribe')
  expect(cut).toHaveLength(4)
})

test('a message of more fragments than clients send is refused before its end', async () => {
  const ana = await world().user('ana')
  const command = Buffer.from(JSON.stringify({ id: 2, unsubscribe: { channel: 'none' } }))
  const padded = Buffer.concat([command, Buffer.alloc(1_100 - command.length, ' ')])
  const send = ({ socket }: RawSocket, fragments: number) => {
    for (const index of upTo(fragments - 1))
      socket.send(padded.subarray(index - 1, index), { fin: false, binary: false })
    return padded.subarray(fragments - 1)
  }
  const patient = await terminatedLater(RawSocket.connect(world(), ana))
  patient.socket.send(send(patient, 1_024), { binary: false })
  expect(await patient.reply(2)).toHaveProperty('unsubscribe')
  const hostile = await terminatedLater(RawSocket.connect(world(), ana))
  send(hostile, 1_026)
  expect(await hostile.closed).toMatchObject({ code: 1008 })
})
