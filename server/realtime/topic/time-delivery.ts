import type { Metrics } from '../../core/metrics.ts'
import type { OutgoingPublication } from '../publication.ts'

/**
 * Measures the time from the commit of an event to the writing of its frames, which happens at the
 * end of the tick. This runs after that.
 */
export function timeDelivery(
  { publication: { committed } }: OutgoingPublication,
  { deliverySeconds }: Pick<Metrics, 'deliverySeconds'>,
) {
  if (!committed) return
  const { at, origin } = committed
  setImmediate(() => deliverySeconds.observe({ origin }, (performance.now() - at) / 1_000))
}
