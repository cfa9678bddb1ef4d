import type { SharedContext } from '../context.ts'
import type { Channel } from '../generated/types.ts'
import type { Total } from './unread.ts'

/**
 * Merges records, whose settings have this version, and the total of unread messages if it came
 * with them; returns the last sort key.
 */
export type Merge = (page: Channel[], settingsVersion: number, total?: Total) => number

/** The form of ids: a call for several channels and threads is refused if one has another. */
const ID = /^[\da-f]{8}(-[\da-f]{4}){4}[\da-f]{8}$/i
export const isId = (id: string) => ID.test(id)

/**
 * Loads the record of a channel with the call that fetches what rooms show. If that has none, a
 * call of its own says why.
 */
export async function loadRecord(
  { api, catchUp }: Pick<SharedContext, 'api' | 'catchUp'>,
  channelId: string,
  merge: Merge,
): Promise<void> {
  const load = () =>
    new Promise<boolean>((resolve) =>
      catchUp.request(channelId, {
        since: null,
        apply: ({ channel }, settingsVersion) => {
          if (channel) merge([channel], settingsVersion)
          resolve(channel !== undefined)
        },
      }),
    )
  const isLoaded = isId(channelId) && (await load())
  if (!isLoaded) merge([await api.channels.get({ channelId })], 0)
}
