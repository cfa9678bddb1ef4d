import type { Reaction, UserSummary } from '../generated/types.ts'
import { keepIfEqual } from '../shared/equality.ts'
import type { ChannelState } from './state.ts'

/** Users' current names and images, by id. */
type Profiles = ReadonlyMap<string, UserSummary>
type WithProfile = { user: UserSummary; reactions?: Reaction[] | undefined }

export const profilesOf = (...users: UserSummary[]): Profiles =>
  new Map(users.map((user) => [user.id, user]))

/** Updates the names and images that an item carries; the same item if nothing in it changes. */
export function withProfiles<Item extends WithProfile>(item: Item, profiles: Profiles): Item {
  const user = profileOf(item.user, profiles)
  const reactions =
    item.reactions &&
    keepIfEqual(
      item.reactions,
      item.reactions.map((reaction) => reactionWithProfiles(reaction, profiles)),
    )
  if (user === item.user && reactions === item.reactions) return item
  return { ...item, user, ...(reactions ? { reactions } : {}) }
}

/** Updates names and images everywhere in a channel; the same state if nothing in it changes. */
export function applyProfiles(state: ChannelState, profiles: Profiles): ChannelState {
  const { messages, members, pins, typing } = state
  const pinsWithProfiles = pins?.map((pin) => withProfiles(pin, profiles))
  const typingWithProfiles = typing.map((user) => profileOf(user, profiles))
  return keepIfEqual(state, {
    ...state,
    messages: messages.map((message) => withProfiles(message, profiles)),
    members: members && mapWithProfiles(members, profiles),
    pins: pins && pinsWithProfiles ? keepIfEqual(pins, pinsWithProfiles) : pins,
    typing: keepIfEqual(typing, typingWithProfiles),
  })
}

function profileOf(known: UserSummary, profiles: Profiles): UserSummary {
  const { id, name, image } = profiles.get(known.id) ?? known
  return known.name === name && known.image === image ? known : { id, name, image }
}

function reactionWithProfiles(reaction: Reaction, profiles: Profiles): Reaction {
  const users = reaction.users.map((user) => profileOf(user, profiles))
  return keepIfEqual(reaction, { ...reaction, users: keepIfEqual(reaction.users, users) })
}

function mapWithProfiles<Item extends WithProfile>(
  items: ReadonlyMap<string, Item>,
  profiles: Profiles,
): ReadonlyMap<string, Item> {
  const updated = [...items].map(([id, item]) => [id, withProfiles(item, profiles)] as const)
  return updated.every(([id, item]) => items.get(id) === item) ? items : new Map(updated)
}
