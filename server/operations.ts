import type { Contract } from '@parley/contract'
import { apps } from './features/apps.ts'
import { channels } from './features/channels/index.ts'
import { members } from './features/members/index.ts'
import { messages } from './features/messages/index.ts'
import { pins } from './features/pins.ts'
import { reactions } from './features/reactions.ts'
import { reads } from './features/reads.ts'
import { service } from './features/service.ts'
import { tokens } from './features/tokens.ts'
import { typing } from './features/typing.ts'
import type { Implements } from './implement.ts'

/** The implementation of every operation of the contract; a missing one does not compile. */
export const operations = { service, apps, tokens, channels, members, messages, pins, reactions, reads, typing } satisfies {
  [Group in keyof Contract]: Implements<Group>
}
