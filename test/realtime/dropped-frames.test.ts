import { once } from 'node:events'
import { connect } from 'node:net'
import { endpointPath } from '@parley/contract'
import { CountedSocket } from '@parley/server/realtime/sockets/counted-socket'
import { describe, expect, onTestFinished, test } from 'vitest'
import { until } from '../support/until.ts'
import { useWorld } from '../support/world.ts'

const world = useWorld()
const [TEXT, PING, PONG] = [1, 9, 10]
const MANY = 20_000

/** Frames as clients send them, with a mask that changes nothing. */
function frames(opcode: number, content = '', count = 1) {
  const isShort = content.length < 126
  const length = isShort ? [content.length] : [126, content.length >> 8, content.length & 0xff]
  const [first = 0, ...others] = length
  const head = [0x80 | opcode, 0x80 | first, ...others, 0, 0, 0, 0]
  return Buffer.from((String.fromCharCode(...head) + content).repeat(count), 'latin1')
}

/** The connection of a client that sends bytes, and never closes its side, and our socket of it. */
async function open(path: string) {
  const { hostname, port } = new URL(world().url)
  const client = connect({ host: hostname, port: Number(port), allowHalfOpen: true })
  onTestFinished(() => void client.destroy())
  const received: Buffer[] = []
  client.on('error', () => {}).on('data', (data) => received.push(data))
  const upgrade = ['Connection: Upgrade', 'Upgrade: websocket', 'Sec-WebSocket-Version: 13']
  const lines = [`GET ${path} HTTP/1.1`, 'Host: x', ...upgrade]
  const accepted = once(world().app.websocketServer, 'connection')
  client.write(`${lines.join('\r\n')}\r\nSec-WebSocket-Key: ${btoa('0123456789abcdef')}\r\n\r\n`)
  const [ours] = await accepted
  if (!(ours instanceof CountedSocket)) throw new Error('expected a socket of ours')
  const ended = once(client, 'end').then(() => Buffer.concat(received))
  return { client, ours, ended, closed: once(ours, 'close') }
}

const codeIn = (received: Buffer) => received.readUInt16BE(received.lastIndexOf(0x88) + 2)

describe.each([endpointPath, '/trpc'])('a socket of %s', (path) => {
  test('that is closed drops the frames that came with its last one, and later ones', async () => {
    const { client, ours, ended, closed } = await open(path)
    const tooLong = frames(TEXT, ' '.repeat(5_000))
    client.write(Buffer.concat([tooLong, frames(TEXT, '{}', MANY), frames(PING, '', MANY)]))
    expect(codeIn(await ended)).toBe(3501)
    client.end(frames(TEXT, '{}', MANY))
    await closed
    expect(ours.framesReceived).toBe(1)
  })

  test.each([
    ['pings', PING],
    ['pongs', PONG],
  ] as const)('is closed for thousands of %s', async (_, opcode) => {
    const { client, ours, closed } = await open(path)
    let parsed = 0
    for (const event of ['ping', 'pong']) ours.on(event, () => parsed++)
    client.end(frames(opcode, '', MANY))
    await closed
    expect(parsed).toBeLessThan(3_000)
  })

  test('may ping and pong as often as clients do', async () => {
    const { client, ours } = await open(path)
    let parsed = 0
    for (const event of ['ping', 'pong']) ours.on(event, () => parsed++)
    client.write(Buffer.concat([frames(PING, 'x', 20), frames(PONG, 'x', 20)]))
    await until(() => parsed === 40)
    expect(ours.readyState).toBe(ours.OPEN)
  })
})
