import { createSocket } from 'node:dgram'
import { Resolver } from 'node:dns/promises'
import { once } from 'node:events'

type Addresses = string[] | (() => string[])

/** A name server that knows these names, and resolvers that ask it. IPv4 only; a name it does not know does not exist. */
export async function serveNames(names: Record<string, Addresses>) {
  const socket = createSocket('udp4')
  const asked: string[] = []
  socket.on('message', (query, peer) => {
    const { name, end, type } = readQuestion(query)
    asked.push(name)
    const entry = names[name]
    const addresses = type === 1 ? (typeof entry === 'function' ? entry() : (entry ?? [])) : []
    socket.send(
      answer(query.subarray(0, end), { addresses, exists: entry !== undefined }),
      peer.port,
      peer.address,
    )
  })
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  const server = `127.0.0.1:${socket.address().port}`
  return {
    asked,
    resolver: () => {
      const resolver = new Resolver({ timeout: 500, tries: 1 })
      resolver.setServers([server])
      return resolver
    },
    stop: () => socket.close(),
  }
}

function readQuestion(query: Buffer) {
  const labels: string[] = []
  let place = 12
  for (let length = query[place] ?? 0; length > 0; length = query[place] ?? 0) {
    labels.push(query.toString('latin1', place + 1, place + 1 + length))
    place += 1 + length
  }
  return {
    name: labels.join('.').toLowerCase(),
    type: query.readUInt16BE(place + 1),
    end: place + 5,
  }
}

function answer(question: Buffer, { addresses, exists }: { addresses: string[]; exists: boolean }) {
  const header = Buffer.from(question)
  header.writeUInt16BE(exists ? 0x8180 : 0x8183, 2)
  header.writeUInt16BE(addresses.length, 6)
  header.writeUInt32BE(0, 8)
  const records = addresses.map((address) =>
    Buffer.from([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4, ...address.split('.').map(Number)]),
  )
  return Buffer.concat([header, ...records])
}
