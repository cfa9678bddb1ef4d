import { isChatError } from '@parley/client'
import fc from 'fast-check'
import type { User, World } from './world.ts'

const deeds = [
  'send',
  'send',
  'send',
  'reply',
  'edit',
  'delete',
  'delete',
  'read',
  'readTo',
  'join',
  'leave',
  'react',
  'unreact',
  'pin',
  'unpin',
  'star',
  'rename',
] as const
/** Who does what, to which of the messages or channels there are at that moment. */
export type Step = { by: number; where: number; does: (typeof deeds)[number]; pick: number }

/**
 * Holds after anything that four users may do in two channels. A failure shows its seed and history; it is not shrunk,
 * for what fails only when several act at once would not fail again.
 */
export const afterAnyHistory = (
  { steps, runs }: { steps: number; runs: number },
  work: (history: Step[]) => Promise<void>,
) => {
  const step = fc.record<Step>({
    by: fc.nat(3),
    where: fc.nat(1),
    does: fc.constantFrom(...deeds),
    pick: fc.nat(10_000),
  })
  return fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: steps / 2, maxLength: steps }), work),
    { numRuns: runs, endOnFailure: true },
  )
}

/** What happened in a step: the message sent or deleted, and whether the step was refused. */
export type Happened = {
  step: Step
  user: User
  channelId: string
  messageId?: string
  refused: boolean
}

/** Four users and two public channels of the first, in which histories take place. */
export async function stage({ users }: World) {
  const cast = await users('ana', 'ben', 'cem', 'dora')
  const channelIds: string[] = []
  for (const name of ['Left', 'Right'])
    channelIds.push(
      (await cast[0].channels.create({ type: 'public', name, memberIds: ['ben'] })).id,
    )
  const sent = new Map(channelIds.map((id) => [id, [] as string[]]))

  /** Carries out a step. Refusals are part of life; anything else that fails fails the test. */
  const live = async (step: Step): Promise<Happened> => {
    const user = cast[step.by] ?? cast[0]
    const channelId = channelIds[step.where] ?? ''
    const ids = sent.get(channelId) ?? []
    const messageId = ids[step.pick % ids.length] ?? channelId
    const happened = { step, user, channelId, messageId, refused: false }
    try {
      const message = await perform(user, { ...step, channelId, messageId })
      if (message) ids.push(message.id)
      return message ? { ...happened, messageId: message.id } : happened
    } catch (error) {
      if (isChatError(error) && [400, 403, 404].includes(error.status))
        return { ...happened, refused: true }
      throw error
    }
  }
  return { cast, channelIds, live }
}

async function perform(
  user: User,
  { does, pick, channelId, messageId }: Step & { channelId: string; messageId: string },
) {
  const ref = { channelId, messageId }
  const emoji = ['👍', '🎉', '❤️'][pick % 3] ?? ''
  if (does === 'send') return user.messages.send({ channelId, text: `secret ${pick} @ben` })
  if (does === 'reply')
    return user.messages.send({ channelId, text: `secret reply ${pick}`, parentId: messageId })
  if (does === 'edit') await user.messages.edit({ ...ref, text: `secret edit ${pick % 2}` })
  if (does === 'delete') await user.messages.delete(ref)
  if (does === 'read') await user.reads.mark({ channelId })
  if (does === 'readTo') await user.reads.mark(ref)
  if (does === 'join') await user.members.join({ channelId })
  if (does === 'leave') await user.members.leave({ channelId })
  if (does === 'react') await user.reactions.add({ ...ref, emoji })
  if (does === 'unreact') await user.reactions.remove({ ...ref, emoji })
  if (does === 'pin') await user.pins.pin(ref)
  if (does === 'unpin') await user.pins.unpin(ref)
  if (does === 'star') await user.channels.updateSettings({ channelId, starred: pick % 2 === 0 })
  if (does === 'rename') await user.channels.update({ channelId, name: `Name ${pick % 2}` })
}

/** Several at once, then the next ones. */
export async function inCrowds<T, R>(items: T[], size: number, work: (item: T) => Promise<R>) {
  for (let start = 0; start < items.length; start += size)
    await Promise.all(items.slice(start, start + size).map(work))
}
