import type { Check } from '../history.ts'

/** Each node says that it has Redis again. */
export const redisBack: Check = ({ found }) =>
  found.redis
    .filter(({ state }) => state !== 'ok')
    .map(({ node, state }) => `node ${node} says that Redis is ${state}`)
