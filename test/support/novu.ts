export type Trigger = {
  name: string
  to: string
  payload: Record<string, string>
  transactionId: string
}
type Call = { method: string; path: string; body: Record<string, unknown> }
type Answer = { status: number; body: object }
type Subscriber = Record<'firstName' | 'email' | 'avatar', string | null>
/** The outcome of an event; `error` has the reasons that Novu gives. */
export type EventOutcome = { status: string; error?: string[] }

const isBulk = (body: Call['body']): body is { events: Trigger[] } => 'events' in body
/** The events of a call, one or many. */
export const triggersOf = ({ body }: Pick<Call, 'body'>) =>
  isBulk(body) ? body.events : [body as Trigger]

/** The part of Novu that Parley uses, answering as its code does. */
export function createNovu() {
  const subscribers = new Map<string, Subscriber>()
  const accept = (_: Trigger): EventOutcome => ({ status: 'processed' })
  let outcomeOf = accept

  const report = (event: Trigger) => {
    const outcome = outcomeOf(event)
    const transactionId = outcome.status === 'processed' ? event.transactionId : undefined
    return { acknowledged: true, ...outcome, transactionId }
  }
  /** An event alone that ends in an error is refused; in a bulk the error is inside of the 201. */
  const trigger = (call: Call): Answer => {
    const reports = triggersOf(call).map(report)
    if (isBulk(call.body)) return { status: 201, body: { data: reports } }
    const [only] = reports
    if (only?.status !== 'error') return { status: 201, body: { data: only } }
    const [message = ''] = only.error ?? []
    return message === 'workflow_not_found' ? { status: 422, body: { message } } : internalError
  }
  /** Creates a subscriber, or changes it: here null is the same as nothing. */
  const save = ({ body }: Call): Answer => {
    const { subscriberId, ...fields } = body as Subscriber & { subscriberId: string }
    const given = Object.entries(fields).filter(([, value]) => value !== null)
    const {
      firstName = null,
      email = null,
      avatar = null,
    } = {
      ...subscribers.get(subscriberId),
      ...Object.fromEntries(given),
    }
    subscribers.set(subscriberId, { firstName, email, avatar })
    return { status: 201, body: { data: {} } }
  }
  const change = (id: string, { body }: Call): Answer => {
    const existing = subscribers.get(id)
    if (!existing) return notFound
    subscribers.set(id, { ...existing, ...body })
    return accepted
  }

  const answer = (call: Call): Answer => {
    const { method, path } = call
    if (path.startsWith('/v1/events/trigger')) return trigger(call)
    if (path === '/v2/subscribers') return save(call)
    const [, encoded, rest] = /^\/v[12]\/subscribers\/([^/]+)(?:(\/.*)|$)/.exec(path) ?? []
    if (encoded === undefined || rest !== undefined) return accepted
    const id = decodeURIComponent(encoded)
    if (method === 'PATCH') return change(id, call)
    if (method === 'DELETE') {
      return subscribers.delete(id) ? accepted : notFound
    }
    return accepted
  }
  return {
    subscribers,
    answer,
    /** Sets the outcome of events from now on; without an argument, all are accepted. */
    decide: (decision: (event: Trigger) => EventOutcome = accept) => {
      outcomeOf = decision
    },
  }
}

const accepted = { status: 200, body: { data: {} } }
const notFound = { status: 404, body: { message: 'not found' } }
const internalError = { status: 500, body: { message: 'Internal server error' } }
