import { parseTopic } from '@parley/contract'
import type { Fragment, Tx } from '../db/client.ts'
import { constant } from '../db/sql.ts'

/*
 * The names that `topics` of the contract makes, read in SQL: `chat:<app>:<channel>` and
 * `user:<app>:<user>`. They are constants, so that each is part of the plan of its statement.
 */

/** The topic of channel `c`. */
export const topicOfChannel = constant((db) => db`'chat:' || c.app_id || ':' || c.id`)

export const isChannelTopic = (db: Tx, topic: Fragment): Fragment => db`${topic} like 'chat:%'`
export const isUserTopic = (db: Tx, topic: Fragment): Fragment => db`${topic} like 'user:%'`

/** The id of the app in a topic. */
export const appIdIn = (db: Tx, topic: Fragment): Fragment => db`split_part(${topic}, ':', 2)::uuid`

/** The id of the channel in a channel's topic, as text. */
export const channelIdIn = (db: Tx, topic: Fragment): Fragment => db`split_part(${topic}, ':', 3)`

/** Whether a topic is a user's own. */
export const isOfUser = (topic: string) => parseTopic(topic)?.kind === 'user'
