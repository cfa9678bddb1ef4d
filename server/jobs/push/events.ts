import type { Kind, Payloads, PushSettings } from './settings.ts'

/** One push to one user, as the provider is told of it. The same `transactionId` is delivered once. */
export type PushEvent = {
  name: string
  to: string
  payload: Record<string, string>
  transactionId: string
}

/** How users are called at the provider. */
export const subscriberId = ({ tenantId }: Pick<PushSettings, 'tenantId'>, userId: string) =>
  tenantId === undefined ? userId : `${tenantId}:${userId}`

/** `about` is what happened; with the user and the workflow it makes a push the same however often its job runs. */
export function pushEvent<K extends Kind>(
  settings: PushSettings,
  kind: K,
  { about, userId, payload }: { about: string; userId: string; payload: Payloads[K] },
): PushEvent {
  const name = settings.workflows[kind]
  return {
    name,
    to: subscriberId(settings, userId),
    payload,
    transactionId: `${about}:${userId}:${name}`,
  }
}

const PREVIEW_GRAPHEMES = 100
const graphemes = new Intl.Segmenter(undefined, { granularity: 'grapheme' })

/** The beginning of a text in one line, no character cut in two. */
export function previewOf(text: string) {
  const line = text.replace(/\s+/gu, ' ').trim()
  if (line.length <= PREVIEW_GRAPHEMES) return line
  let end = 0
  let count = 0
  for (const { index, segment } of graphemes.segment(line)) {
    if (count === PREVIEW_GRAPHEMES) break
    count += 1
    end = index + segment.length
  }
  return line.slice(0, end)
}
