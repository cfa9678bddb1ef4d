import { compare, readOptions } from './http/compare.ts'
import { fillChannels, unreadAll } from './http/fill.ts'
import { seed } from './http/seed.ts'
import { get, post } from './http/targets.ts'

/**
 * A page of 50 messages, a list of 50 channels and marking a channel as read, each beside a
 * hand-written route with one statement on the same tables. The routes check no rights and know
 * neither reactions nor pins. Everything is unread when a round of marking begins. The edge is the
 * cost of a call that needs neither the database nor a caller.
 */
const options = readOptions()

await compare({
  options,
  baselines: ['bare', 'minimal list', 'minimal channels', 'minimal mark'],
  targets: async ({ server, routes, sql }) => {
    const { appId, channelIds, userIds, tokens } = await seed(server.url, options)
    await fillChannels(sql, { appId, messages: 60 })
    const prepare = () => unreadAll(sql, appId)
    // Every user in every channel once, before any pair comes again.
    const pairs = userIds.flatMap((userId, user) =>
      channelIds.map((_, at) => {
        const channelId = channelIds[(at + user) % channelIds.length] ?? ''
        return { userId, channelId, token: tokens[user] }
      }),
    )
    const requestsOf = (write: (pair: (typeof pairs)[number]) => string) => pairs.map(write)
    return {
      bare: { ...routes, requests: [get('/bare')] },
      'parley, edge': { ...server, requests: [get('/health/live')] },
      'minimal list': {
        ...routes,
        requests: requestsOf(({ channelId }) => get(`/messages/${channelId}`)),
      },
      'parley, list': {
        ...server,
        requests: requestsOf(({ channelId, token }) =>
          get(`/api/channels/${channelId}/messages?limit=50`, token),
        ),
      },
      'minimal channels': {
        ...routes,
        requests: requestsOf(({ userId }) => get(`/channels/${appId}/${userId}`)),
      },
      'parley, channels': {
        ...server,
        requests: requestsOf(({ token }) => get('/api/channels?limit=50', token)),
      },
      'minimal mark': {
        ...routes,
        prepare,
        requests: requestsOf(({ userId, channelId }) => post(`/mark/${channelId}/${userId}`)),
      },
      'parley, mark': {
        ...server,
        prepare,
        requests: requestsOf(({ channelId, token }) =>
          post(`/api/channels/${channelId}/read`, { token }),
        ),
      },
    }
  },
})
