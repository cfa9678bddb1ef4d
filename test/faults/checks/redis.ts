import type { Check } from '../history.ts'

/** Each node says that it is connected to Redis again. */
export const redisBack: Check = ({ found }) =>
  found.redis
    .filter(({ state }) => state !== 'ok')
    .map(({ node, state }) => `node ${node} says that Redis is ${state}`)
