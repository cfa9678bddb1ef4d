import { compare, readOptions } from './http/compare.ts'
import { seed } from './http/seed.ts'
import { post } from './http/targets.ts'

/**
 * Sends spread over many channels, and into one hot channel, beside hand-written routes on the same
 * PostgreSQL.
 */
const options = readOptions()
const TEXT = 'The soup is ready, who is hungry? There is bread with it, and cheese.'

await compare({
  options,
  baselines: ['bare', 'insert', 'bump'],
  targets: async ({ server, routes }) => {
    const { channelIds, tokens } = await seed(server.url, options)
    const [hot = ''] = channelIds
    const onlyHot = channelIds.map(() => hot)
    const body = { text: TEXT }
    const sendTo = (ids: string[]) => ({
      ...server,
      requests: ids.map((id, index) =>
        post(`/api/channels/${id}/messages`, { body, token: tokens[index % tokens.length] }),
      ),
    })
    const postTo = (route: string, ids: string[]) => ({
      ...routes,
      requests: ids.map((id) => post(`/${route}/${id}`, { body })),
    })
    return {
      bare: postTo('bare', channelIds),
      insert: postTo('insert', channelIds),
      bump: postTo('bump', onlyHot),
      'parley, spread': sendTo(channelIds),
      'parley, hot': sendTo(onlyHot),
    }
  },
})
