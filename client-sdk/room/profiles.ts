import type { Reaction, UserSummary } from '../types.ts'
import type { ChannelState } from './reducer.ts'

type Faces = ReadonlyMap<string, UserSummary>
type Faced = { user: UserSummary; reactions?: Reaction[] | undefined }

export const facesOf = (...users: UserSummary[]): Faces =>
  new Map(users.map((user) => [user.id, user]))

/** What carries names and images, with the new ones; the same object if none of them are on it, or are no news. */
export function withFaces<Item extends Faced>(item: Item, faces: Faces): Item {
  const user = faceOf(item.user, faces)
  const reactions = item.reactions && keep(item.reactions, (reaction) => withUsers(reaction, faces))
  return user === item.user && reactions === item.reactions
    ? item
    : { ...item, user, ...(reactions ? { reactions } : {}) }
}

/** These users have new names or images: they show wherever the users do. */
export function rename(state: ChannelState, faces: Faces): ChannelState {
  const { messages, members, pins, typing } = state
  const next = {
    messages: keepMap(messages, (message) => withFaces(message, faces)),
    members: members && keepMap(members, (member) => withFaces(member, faces)),
    pins: pins && keep(pins, (pin) => withFaces(pin, faces)),
    typing: keep(typing, (user) => faceOf(user, faces)),
  }
  const isSame =
    next.messages === messages &&
    next.members === members &&
    next.pins === pins &&
    next.typing === typing
  return isSame ? state : { ...state, ...next }
}

function faceOf(known: UserSummary, faces: Faces): UserSummary {
  const { id, name, image } = faces.get(known.id) ?? known
  return known.name === name && known.image === image ? known : { id, name, image }
}

function withUsers(reaction: Reaction, faces: Faces): Reaction {
  const users = keep(reaction.users, (user) => faceOf(user, faces))
  return users === reaction.users ? reaction : { ...reaction, users }
}

/** The list with each item changed; the same list if none is. */
function keep<List extends readonly unknown[]>(
  list: List,
  change: (item: List[number]) => List[number],
): List {
  const changed = list.map(change)
  return changed.every((item, index) => item === list[index]) ? list : (changed as unknown as List) // of the same kind, and as long
}

function keepMap<Value>(
  map: ReadonlyMap<string, Value>,
  change: (value: Value) => Value,
): ReadonlyMap<string, Value> {
  const before = [...map.values()]
  const after = keep(before, change)
  return after === before
    ? map
    : new Map([...map.keys()].map((key, index) => [key, after[index] as Value])) // as many as keys
}
