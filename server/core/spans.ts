/**
 * Where time goes, for OpenTelemetry. Without a tracer, which only a start with an address to send
 * spans to brings, nothing is measured and nothing is loaded.
 */
type Tracer = {
  begin: (options: SpanOptions) => Span
  /** Runs `work` and what follows from it within a span. */
  runIn: <T>(span: Span, work: () => T) => T
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
  /** As jobs and calls to others carry it: the ids of trace and span, and flags. */
  traceContext: string
  set: (attributes: Attributes) => void
  rename: (name: string) => void
  end: (error?: unknown) => void
}

let tracer: Tracer | undefined

/** Sets the tracer; to be called before anything else starts. Undefined ends tracing. */
export const useTracer = (given: Tracer | undefined) => {
  tracer = given
}
export const isTracing = () => tracer !== undefined
export const activeSpan = () => tracer?.active()
export const beginSpan = (options: SpanOptions) => tracer?.begin(options)

/** Runs `work` within a span that began elsewhere. */
export const continueSpan = <T>(span: Span | undefined, work: () => T): T =>
  tracer && span ? tracer.runIn(span, work) : work()

/** Runs `work` in a span of its own. */
export async function inSpan<T>(
  options: () => SpanOptions,
  work: (span?: Span) => Promise<T>,
): Promise<T> {
  if (!tracer) return work()
  const span = tracer.begin(options())
  try {
    const result = await tracer.runIn(span, () => work(span))
    span.end()
    return result
  } catch (error) {
    span.end(error)
    throw error
  }
}

const TRACE_CONTEXT = /^([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/

/** The parts of a trace context, and of a `traceparent`, too. */
export function partsOfTraceContext(traceContext: string) {
  const [, traceId, spanId, flags] = TRACE_CONTEXT.exec(traceContext.replace(/^00-/, '')) ?? []
  return traceId === undefined || spanId === undefined || flags === undefined
    ? undefined
    : { traceId, spanId, flags: Number.parseInt(flags, 16) }
}

/** The id of the trace in a trace context. */
export const traceIdOf = (traceContext: string) => traceContext.slice(0, 32)
