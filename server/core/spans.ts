/**
 * Where time goes, for OpenTelemetry. Without a tracer, which only a start with an address to send
 * spans to brings, nothing is measured and nothing is loaded.
 */
export type Tracer = {
  begin: (options: SpanOptions) => Span
  /** Runs `work` and what follows from it within a span. */
  within: <T>(span: Span, work: () => T) => T
  active: () => Span | undefined
}

export type SpanOptions = {
  name: string
  kind: 'server' | 'client' | 'consumer' | 'internal'
  attributes?: Attributes
  /** Where it came from: the first is its parent. Without, the active span. */
  causes?: string[]
}
type Attributes = Record<string, string | number>

export type Span = {
  traceId: string
  /** Its place in the trace, as jobs carry it: trace, span and flags. */
  place: string
  set: (attributes: Attributes) => void
  rename: (name: string) => void
  end: (error?: unknown) => void
}

let tracer: Tracer | undefined

/** Before anything else starts. Undefined: no spans any more. */
export const useTracer = (given: Tracer | undefined) => {
  tracer = given
}
export const isTracing = () => tracer !== undefined
export const activeSpan = () => tracer?.active()
export const beginSpan = (options: SpanOptions) => tracer?.begin(options)

/** Runs `work` within a span that began elsewhere. */
export const within = <T>(span: Span | undefined, work: () => T): T =>
  tracer && span ? tracer.within(span, work) : work()

/** Runs `work` in a span of its own. */
export async function inSpan<T>(
  options: () => SpanOptions,
  work: (span?: Span) => Promise<T>,
): Promise<T> {
  if (!tracer) return work()
  const span = tracer.begin(options())
  try {
    const result = await tracer.within(span, () => work(span))
    span.end()
    return result
  } catch (error) {
    span.end(error)
    throw error
  }
}

const PLACE = /^([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/

/** The parts of a place; of a `traceparent`, too. */
export function partsOfPlace(place: string) {
  const [, traceId, spanId, flags] = PLACE.exec(place.replace(/^00-/, '')) ?? []
  return traceId === undefined || spanId === undefined || flags === undefined
    ? undefined
    : { traceId, spanId, flags: Number.parseInt(flags, 16) }
}

/** The trace that a place is in. */
export const traceOfPlace = (place: string) => place.slice(0, 32)
