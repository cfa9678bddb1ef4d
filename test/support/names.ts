import { createSocket } from 'node:dgram'
import { Resolver } from 'node:dns/promises'
import { once } from 'node:events'
import { isIPv6 } from 'node:net'

type Addresses = string[] | (() => string[])
const TYPE_A = 1
const TYPE_AAAA = 28

/** A fake name server, and resolvers that use it. Other names do not exist. */
export async function serveNames(names: Record<string, Addresses>) {
  const socket = createSocket('udp4')
  const queried: string[] = []
  socket.on('message', (query, peer) => {
    const { name, end, type } = readQuestion(query)
    queried.push(name)
    const entry = names[name]
    const addresses = addressesOf(entry, type).filter((address) => typeOf(address) === type)
    const response = answer(query.subarray(0, end), { addresses, exists: entry !== undefined })
    socket.send(response, peer.port, peer.address)
  })
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  const server = `127.0.0.1:${socket.address().port}`
  return {
    queried,
    resolver: () => {
      // The server answers every query, so a second try would only mean that the machine is busy.
      const resolver = new Resolver({ timeout: 30_000, tries: 1 })
      resolver.setServers([server])
      return resolver
    },
    stop: () => socket.close(),
  }
}

/** A name whose addresses change has no IPv6 addresses. */
const addressesOf = (entry: Addresses | undefined, type: number) => {
  if (typeof entry !== 'function') return entry ?? []
  return type === TYPE_A ? entry() : []
}

const typeOf = (address: string) => (isIPv6(address) ? TYPE_AAAA : TYPE_A)

/** In full: `2606:4700::1` is eight groups of two bytes. */
function bytesOf(address: string) {
  if (!isIPv6(address)) return address.split('.').map(Number)
  const [start = '', end = ''] = address.split('::')
  const groupsOf = (part: string) => (part === '' ? [] : part.split(':'))
  const [first, last] = [groupsOf(start), groupsOf(end)]
  const zeros = Array.from({ length: 8 - first.length - last.length }, () => '0')
  return [...first, ...zeros, ...last].flatMap((group) => {
    const value = Number.parseInt(group, 16)
    return [value >> 8, value & 255]
  })
}

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
  const records = addresses.map((address) => {
    const bytes = bytesOf(address)
    return Buffer.from([0xc0, 12, 0, typeOf(address), 0, 1, 0, 0, 0, 0, 0, bytes.length, ...bytes])
  })
  return Buffer.concat([header, ...records])
}
