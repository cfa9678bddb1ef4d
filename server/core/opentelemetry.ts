import { AsyncLocalStorage } from 'node:async_hooks'
import {
  type Context,
  ROOT_CONTEXT as root,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api'
import { setGlobalErrorHandler } from '@opentelemetry/core'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import {
  defaultResource,
  detectResources,
  envDetector,
  resourceFromAttributes,
} from '@opentelemetry/resources'
import { BasicTracerProvider, BatchSpanProcessor } from '@opentelemetry/sdk-trace-base'
import { partsOfTraceContext, type Span, type SpanOptions, useTracer } from './spans.ts'

/** How long the end of the process waits for the last spans to be sent. */
const FLUSH_MS = 2_000
/** How often the log says, at most, that the receiver takes no spans. */
const REPORT_MS = 300_000

const kinds = {
  server: SpanKind.SERVER,
  client: SpanKind.CLIENT,
  consumer: SpanKind.CONSUMER,
  internal: SpanKind.INTERNAL,
}

type TracingOptions = { version: string; warn: (problem: string) => void }

/**
 * Sends spans to the receiver that the variables OTEL_… name, in the background: the SDK reads
 * them, samples, and drops what finds no room in its queue. Returns a function that ends it.
 */
export function startTracing({ version, warn }: TracingOptions) {
  reportFailures(warn)
  const provider = new BasicTracerProvider({
    resource: defaultResource()
      .merge(resourceFromAttributes({ 'service.name': 'parley', 'service.version': version }))
      .merge(detectResources({ detectors: [envDetector] })),
    spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter())],
  })
  const tracer = provider.getTracer('parley', version)
  const active = new AsyncLocalStorage<Tracked>()
  useTracer({
    active: () => active.getStore(),
    runIn: (span, work) => active.run(span as Tracked, work), // all are made below
    begin: (options) => {
      const { name, kind, attributes = {}, causes } = options
      const contexts = contextsOf(options)
      const parent = causes ? contexts[0] : active.getStore()?.context
      const links = contexts.slice(1).flatMap((context) => trace.getSpanContext(context) ?? [])
      const clock = (causes ? undefined : active.getStore()?.clock) ?? startClock()
      const made = tracer.startSpan(
        name,
        {
          kind: kinds[kind],
          attributes,
          links: links.map((context) => ({ context })),
          startTime: clock(),
        },
        parent ?? root,
      )
      return tracked(made, clock)
    },
  })
  return async () => {
    useTracer(undefined)
    const ended = provider.shutdown().catch(() => {})
    await Promise.race([ended, new Promise((resolve) => setTimeout(resolve, FLUSH_MS).unref())])
  }
}

type Clock = () => number
type Tracked = Span & { context: Context; clock: Clock }

/**
 * The time, going on by the monotonic clock. The spans of a call share it: by the clock of the SDK
 * each begins in a whole millisecond, so a part of it could seem to end after all of it.
 */
function startClock(): Clock {
  const offset = Date.now() - performance.now()
  return () => offset + performance.now()
}

type MadeSpan = ReturnType<ReturnType<BasicTracerProvider['getTracer']>['startSpan']>

function tracked(span: MadeSpan, clock: Clock): Tracked {
  const { traceId, spanId, traceFlags } = span.spanContext()
  return {
    traceId,
    traceContext: `${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`,
    context: trace.setSpan(root, span),
    clock,
    set: (attributes: Record<string, string | number>) => void span.setAttributes(attributes),
    rename: (name: string) => void span.updateName(name),
    end: (error?: unknown) => {
      if (error !== undefined)
        span.setStatus({
          code: SpanStatusCode.ERROR,
          message: error instanceof Error ? error.name : String(error),
        })
      span.end(clock())
    },
  }
}

/** Recorded causes come first: the first is the parent, so the span is in its trace. */
const contextsOf = ({ causes = [] }: SpanOptions): Context[] =>
  causes
    .flatMap((cause) => partsOfTraceContext(cause) ?? [])
    .sort((a, b) => (b.flags & 1) - (a.flags & 1))
    .map(({ traceId, spanId, flags }) => {
      const remote: SpanContext = { traceId, spanId, traceFlags: flags, isRemote: true }
      return trace.setSpanContext(root, remote)
    })

/** A receiver that is away is worth a line, but not one for each batch. */
function reportFailures(warn: TracingOptions['warn']) {
  let saidAt = Number.NEGATIVE_INFINITY
  setGlobalErrorHandler((error) => {
    if (performance.now() - saidAt < REPORT_MS) return
    saidAt = performance.now()
    warn(`OpenTelemetry: spans are lost: ${error instanceof Error ? error.message : String(error)}`)
  })
}
