import type { Cluster } from 'ioredis'

const SLOTS = 16_384
/** CRC16 of XMODEM, as Redis spreads channels over the slots of a cluster. */
const POLYNOMIAL = 0x1021

/**
 * The part of a channel's name that Redis hashes: what is between the first braces, if anything.
 */
const TAG = /^[^{]*\{([^}]+)\}/

/**
 * For each server of the cluster that has some of these channels, the hashed part of one of them.
 */
export function tagOfEachServer({ slots }: Pick<Cluster, 'slots'>, channels: Iterable<string>) {
  const all = new Set(slots.map((keys) => keys?.[0])).size
  const found = new Map<string, string>()
  for (const channel of channels) {
    if (found.size === all) break
    const tag = TAG.exec(channel)?.[1] ?? channel
    // Within braces it would be hashed differently.
    if (tag.includes('}')) continue
    const [server] = slots[slotOf(tag)] ?? []
    if (server !== undefined && !found.has(server)) found.set(server, tag)
  }
  return [...found.values()]
}

function slotOf(tag: string) {
  let sum = 0
  for (const byte of Buffer.from(tag)) {
    sum ^= byte << 8
    for (let bit = 0; bit < 8; bit++) {
      sum = ((sum << 1) ^ (sum & 0x8000 ? POLYNOMIAL : 0)) & 0xffff
    }
  }
  return sum % SLOTS
}
