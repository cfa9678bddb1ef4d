import { setTimeout as delay } from 'node:timers/promises'
import { type Api, createApi } from '@parley/client/api'
import { systemUserId } from '@parley/contract'
import { recordingFetch, untilKnown } from './calls.ts'
import type { SentMessage } from './history.ts'
import type { Random } from './random.ts'
import type { Rig } from './rig.ts'

type Backend = { rig: Rig; api: Api; random: Random; own: Own[] }
/** A system message that the backend knows to exist. */
type Own = { id: string; sent: SentMessage }

const PAUSE_MS = 60

/**
 * The app's backend sends system messages and deletes some of them, and freezes channels for a
 * while. Resolves after `signal`, when no channel is frozen.
 */
export async function startBackend(rig: Rig, signal: AbortSignal) {
  const random = rig.random.fork()
  const fetch = recordingFetch(rig, { random })
  const api = createApi({ url: 'http://any-node', apiKey: rig.apiKey, fetch })
  const backend: Backend = { rig, api, random, own: [] }
  while (!signal.aborted) {
    await act(backend)
    await delay(random.between(PAUSE_MS, 3 * PAUSE_MS))
  }
  for (const freeze of frozenNow(rig)) await thaw(backend, freeze)
}

async function act(backend: Backend) {
  const { rig, random, own } = backend
  const choice = random.fraction()
  const [frozen] = frozenNow(rig)
  const mine = own.filter(({ sent }) => !sent.isDeleted).at(-random.between(1, 10))
  if (frozen && choice < 0.2) return thaw(backend, frozen)
  if (!frozen && choice < 0.08) return freeze(backend, random.pick(rig.channels).id)
  if (mine && choice > 0.9) return deleteMessage(backend, mine)
  return send(backend, random.pick(rig.channels).id)
}

async function send({ rig, api, random, ...backend }: Backend, channelId: string) {
  const isPushed = random.fraction() < 0.5
  const number = rig.history.messages.length
  const sent: SentMessage = {
    clientId: `system-${number}`,
    channelId,
    userId: systemUserId,
    acknowledged: [],
    parentId: undefined,
    text: `notice ${number}`,
    isDeleted: false,
    isPinned: false,
    isSilent: true,
    isPushed,
    isRefused: false,
  }
  rig.history.messages.push(sent)
  const { text, clientId } = sent
  const given = { channelId, text, clientId, ...(isPushed && { silent: false }) }
  const call = async () => {
    const { id, seq, createdAt } = await api.messages.send(given)
    sent.acknowledged.push({ id, seq, createdAt })
  }
  await untilKnown(rig, { name: 'send as the backend', call })
  const [first] = sent.acknowledged
  if (first) backend.own.push({ id: first.id, sent })
}

async function deleteMessage({ rig, api }: Backend, { id, sent }: Own) {
  sent.isDeleted = true
  await untilKnown(rig, {
    name: 'delete as the backend',
    call: () => api.messages.delete({ channelId: sent.channelId, messageId: id }),
    // A repeat finds that the first attempt has deleted it.
    isExpected: ({ code, isAmbiguous }) => code === 'NOT_FOUND' && isAmbiguous,
  })
}

type Freeze = Rig['history']['freezes'][number]

const frozenNow = ({ history }: Rig) =>
  history.freezes.filter(({ to }) => to === Number.POSITIVE_INFINITY)

async function freeze({ rig, api }: Backend, channelId: string) {
  rig.history.freezes.push({ channelId, from: rig.now(), to: Number.POSITIVE_INFINITY })
  const call = () => api.channels.update({ channelId, frozen: true })
  await untilKnown(rig, { name: 'freeze', call })
}

async function thaw({ rig, api }: Backend, frozen: Freeze) {
  const call = () => api.channels.update({ channelId: frozen.channelId, frozen: false })
  await untilKnown(rig, { name: 'thaw', call })
  frozen.to = rig.now()
}
