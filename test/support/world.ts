import type { Api } from '@parley/client'
import type { TokenResult } from '@parley/contract'
import { afterAll, beforeAll } from 'vitest'
import { openWorlds } from './open-worlds.ts'
import { serveProvider } from './provider.ts'
import { ADMIN_KEY, PUBLIC_URL, SECRET } from './secrets.ts'
import { createServer, type Server, type ServerOptions } from './server.ts'
import { sharing } from './sharing.ts'
import { type CallerCredentials, createValidatedApi } from './validated.ts'

export { ADMIN_KEY, PUBLIC_URL, SECRET }

export type World = Awaited<ReturnType<typeof createWorld>>
/** A user of the app: a validated client, and the user's id and tokens. */
export type User = Api & { id: string; token: string; minted: TokenResult }

/** A running server with one app, on a database of its own or on a given one. */
export async function createWorld(options?: ServerOptions) {
  return withApp(await createServer(options))
}

async function withApp(server: Server) {
  const { url, addNamesakes } = server
  const api = (credentials: CallerCredentials = {}) => createValidatedApi({ url, ...credentials })
  const operator = api({ adminKey: ADMIN_KEY })
  const { id: appId, apiKey } = await operator.apps.create({ name: 'Test' })
  /** The backend of another app. */
  const stranger = async () =>
    api({ apiKey: (await operator.apps.create({ name: 'Other' })).apiKey })
  const backend = api({ apiKey })
  const user = async (
    id: string,
    profile: { name?: string; image?: string } = {},
    from: Api = backend,
  ): Promise<User> => {
    await addNamesakes([id])
    const result = await from.tokens.create({ userId: id, ...profile })
    return { ...api({ token: result.token }), id, token: result.token, minted: result }
  }
  const users = async <Ids extends string[]>(...ids: Ids) => {
    await addNamesakes(ids)
    const all = await Promise.all(ids.map((id) => user(id)))
    return all as { [Index in keyof Ids]: User } // one for each id
  }
  return { ...server, appId, apiKey, api, backend, operator, stranger, user, users }
}

/** The world of a test file, created before its tests and stopped after them. */
export function useWorld(options?: ServerOptions) {
  let world: World | undefined
  beforeAll(async () => {
    world = await createWorld(options)
  })
  afterAll(() => world?.stop())
  return () => existing(world)
}

/**
 * The same, where the server and its database also serve other files of the worker that share it,
 * one after the other: each has an app of its own there. For tests that neither count what is in
 * the whole database nor change, slow or stop the server: making one, and having its connections
 * plan all statements again, takes more than most files do.
 */
export function useSharedWorld() {
  let world: World | undefined
  sharing.isWanted = true
  beforeAll(async () => {
    sharing.server ??= await createServer()
    const { server } = sharing
    openWorlds.add(server.app)
    world = await withApp(server)
  })
  afterAll(() => world?.expectIsolated())
  return () => existing(world)
}

/** A world of its own with a push provider and running jobs. */
export function useWorldWithProvider(jobs: NonNullable<ServerOptions['jobs']> = {}) {
  let provider: Awaited<ReturnType<typeof serveProvider>> | undefined
  let world: World | undefined
  beforeAll(async () => {
    provider = await serveProvider()
    world = await createWorld({ jobs: { push: provider.settings, ...jobs } })
  })
  afterAll(async () => {
    await world?.stop()
    await provider?.stop()
  })
  return { world: () => existing(world), provider: () => existing(provider) }
}

function existing<T>(made: T | undefined): T {
  if (made === undefined) throw new Error('the world exists only while tests run')
  return made
}
