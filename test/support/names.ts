import { createSocket } from 'node:dgram'
import { Resolver } from 'node:dns/promises'
import { once } from 'node:events'

type Addresses = string[] | (() => string[])

/**
 * A name server with these names, and resolvers that ask it. It answers IPv4 only, and other names
 * do not exist.
 */
export async function serveNames(names: Record<string, Addresses>) {
  const socket = createSocket('udp4')
  const asked: string[] = []
  socket.on('message', (query, peer) => {
    const { name, end, type } = readQuestion(query)
    asked.push(name)
    const entry = names[name]
    const known = typeof entry === 'function' ? entry() : (entry ?? [])
    const addresses = type === 1 ? known : []
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
  let at = 12
  for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length))
    at += 1 + length
  }
  return {
    name: labels.join('.').toLowerCase(),
    type: query.readUInt16BE(at + 1),
    end: at + 5,
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
