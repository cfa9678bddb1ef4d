import { json } from '@parley/server/realtime/protocol/json'
import { protobuf } from '@parley/server/realtime/protocol/protobuf'
import { OutgoingPublication } from '@parley/server/realtime/publication'
import { describe, expect, test, vi } from 'vitest'
import { channelId, chat, own } from '../hub/fixture.ts'

const split = (codec: typeof json, frame: Buffer) => {
  const messages = codec.split(frame)
  const found: string[] = []
  for (let next = messages.next(); !next.done; next = messages.next()) found.push(`${next.value}`)
  return found
}

describe('frames and messages', () => {
  test('a frame of JSON has a message on each line', () => {
    expect(split(json, Buffer.from('{"a":1}\n{"b":2}'))).toEqual(['{"a":1}', '{"b":2}'])
    expect(`${json.join([Buffer.from('{}'), Buffer.from('{}')])}`).toBe('{}\n{}')
  })

  test('a frame of Protobuf must end with a whole message', () => {
    expect(split(protobuf, Buffer.from([1, 0x41, 2, 0x42, 0x43]))).toEqual(['A', 'BC'])
    expect(() => split(protobuf, Buffer.from([1, 0x41, 2, 0x42]))).toThrow('a whole message')
    expect(split(protobuf, protobuf.ping)).toEqual([''])
  })

  test('malformed UTF-8 and arrays are no commands', () => {
    expect(json.decode(Buffer.from('{}'))).toEqual({ name: 'pong' })
    expect(() => json.decode(Buffer.from('[]'))).toThrow('expected an object')
    const latin1 = Buffer.from('{"id":1,"subscribe":{"channel":"\xff"}}', 'latin1')
    expect(() => json.decode(latin1)).toThrow()
  })
})

const publicationOf = (offset: number | null) => ({
  offset,
  type: 'channel.deleted' as const,
  envelope: JSON.stringify({ type: 'channel.deleted', payload: { channelId } }),
  messageId: null,
})

test.each([json, protobuf])('a history is sent with its events ($encoding)', (codec) => {
  const publication = { ...publicationOf(7), offset: 7 }
  const publications = [publication, publication]
  const reply = codec.encodeReply({ id: 2, history: { epoch: 'one', offset: 7, publications } })
  expect(reply.toString('latin1').split(publication.envelope)).toHaveLength(3)
  if (codec === json)
    expect(JSON.parse(`${reply}`).history.publications[1]).toEqual({
      data: JSON.parse(publication.envelope),
      offset: 7,
    })
})

test('a publication is serialised once for each encoding', () => {
  const outgoing = new OutgoingPublication(chat, publicationOf(7))
  const encodes = [json, protobuf].map((codec) => vi.spyOn(codec, 'encodePush'))
  const [text, bytes] = [json, protobuf].map((codec) => outgoing.encode(codec))
  expect(text?.equals(bytes ?? Buffer.alloc(0))).toBe(false)
  expect([outgoing.encode(json), outgoing.encode(protobuf)]).toEqual([text, bytes])
  expect(encodes.map(({ mock }) => mock.calls.length)).toEqual([1, 1])
  for (const encode of encodes) encode.mockRestore()
})

test("only a deletion's event ends a subscription, not its copy on the user's topic", () => {
  expect(new OutgoingPublication(chat, publicationOf(7)).ends('ana')).toBe(true)
  expect(new OutgoingPublication(own, publicationOf(null)).ends('ana')).toBe(false)
})
