import { createApi } from '@parley/client/api'
import type { User, World } from '../world.ts'
import type { BigApp } from './app.ts'
import { ofBackends } from './of-backends.ts'
import { ofChannels } from './of-channels.ts'
import { ofMessages } from './of-messages.ts'
import { ofOperators } from './of-operators.ts'
import { ofSockets } from './of-sockets.ts'
import { ofUsers } from './of-users.ts'
import type { Big, Operations } from './operation.ts'

/** Every operation of the contract and of the socket, on the parts of a big app that are large. */
export async function operationsOn(world: World, app: BigApp): Promise<Operations> {
  const { url, db, apiKey } = world
  const users = await world.users('ana', 'ben', 'busy')
  const as = ({ token }: User) => createApi({ url, token })
  let number = 0
  const next = () => number++
  const big: Big = {
    ...app,
    world,
    users,
    ana: as(users[0]),
    ben: as(users[1]),
    busy: as(users[2]),
    backend: createApi({ url, apiKey }),
    operator: world.operator,
    next,
    unique: () => `unique-${next()}`,
    at: async (channelId, seq) => {
      const [row] = await db<{ id: string }[]>`
        select id
        from messages
        where channel_id = ${channelId}
          and seq = ${seq}`
      return row?.id ?? ''
    },
  }
  return {
    ...(await ofMessages(big)),
    ...(await ofChannels(big)),
    ...(await ofUsers(big)),
    ...(await ofSockets(big)),
    ...(await ofBackends(big)),
    ...(await ofOperators(big)),
  }
}
