import { createSocket } from 'node:dgram'
import { Resolver } from 'node:dns/promises'
import { once } from 'node:events'

type Addresses = string[] | (() => string[])
const TYPE_A = 1

/** A fake name server, and resolvers that use it. It is IPv4 only; other names do not exist. */
export async function serveNames(names: Record<string, Addresses>) {
  const socket = createSocket('udp4')
  const queried: string[] = []
  socket.on('message', (query, peer) => {
    const { name, end, type } = readQuestion(query)
    queried.push(name)
    const entry = names[name]
    const addresses = type === TYPE_A ? addressesOf(entry) : []
    const response = answer(query.subarray(0, end), { addresses, exists: entry !== undefined })
    socket.send(response, peer.port, peer.address)
  })
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  const server = `127.0.0.1:${socket.address().port}`
  return {
    queried,
    resolver: () => {
      // It answers every query: a second one would only say that the machine is busy.
      const resolver = new Resolver({ timeout: 30_000, tries: 1 })
      resolver.setServers([server])
      return resolver
    },
    stop: () => socket.close(),
  }
}

const addressesOf = (entry: Addresses | undefined) =>
  typeof entry === 'function' ? entry() : (entry ?? [])

function readQuestion(query: Buffer) {
  const labels: string[] = []
  let position = 12
  for (let length = query[position] ?? 0; length > 0; length = query[position] ?? 0) {
    labels.push(query.toString('latin1', position + 1, position + 1 + length))
    position += 1 + length
  }
  return {
    name: labels.join('.').toLowerCase(),
    type: query.readUInt16BE(position + 1),
    end: position + 5,
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
