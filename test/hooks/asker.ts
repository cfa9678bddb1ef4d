import { createAskBeforeSend } from '@parley/server/core/before-send'
import { createGuardedRequest } from '@parley/server/core/guarded-request'
import { createMetrics } from '@parley/server/core/metrics'

/** Asks hooks as a server does, and collects the log lines and the metrics. */
export function newAskerOf(receiver: { host: string; url: string }) {
  const metrics = createMetrics()
  const lines: unknown[] = []
  const ask = createAskBeforeSend({
    request: createGuardedRequest({ allowedHosts: [receiver.host] }),
    metrics,
    log: { warn: (facts, message) => lines.push({ ...facts, message }) },
  })
  const hook = { url: receiver.url, timeoutMs: 60_000, secrets: [`whsec_${btoa('x'.repeat(24))}`] }
  const question = (appId: string, userId: string) => ({
    type: 'message.before_send' as const,
    timestamp: new Date().toISOString(),
    appId,
    data: { channelId: crypto.randomUUID(), userId, text: 'Hello', attachments: [] },
  })
  const countOf = async (outcome: string) =>
    (await metrics.beforeSend.get()).values.find(({ labels }) => labels.outcome === outcome)
      ?.value ?? 0
  const refused = async () => (await metrics.callsRefused.get()).values
  const askFor = (appId: string, onError: 'allow' | 'deny' = 'deny', userId = 'ana') =>
    ask({ ...hook, onError }, question(appId, userId))
  return { askFor, lines, countOf, refused }
}
