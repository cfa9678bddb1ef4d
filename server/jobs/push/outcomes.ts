import { z } from 'zod'
import { ProviderUnavailableError } from './provider-call.ts'

/** What the provider did with one push. The reason is its own. */
export type Outcome = { result: 'accepted' | 'refused' | 'unavailable'; reason: string }

/** These are not worth another try: somebody has to change the workflow, or the user's id. */
const REFUSALS = new Set([
  'trigger_not_active',
  'no_workflow_steps_defined',
  'no_workflow_active_steps_defined',
  'subscriber_id_missing',
  'no_tenant_found',
  'invalid_recipients',
])
/** How the reasons of an `error` begin that lie in the push. Any other is trouble of Novu's own. */
const CONTENT_ERROR = /^(workflow_not_found|trigger is missing|payload |validation |invalid )/i

const Report = z.object({ status: z.string(), error: z.unknown().optional() })
const WithoutOutcomes = z.object({ data: z.undefined().optional() })
const TriggerResponse = z.object({
  data: z.union([z.array(Report), Report.transform((report) => [report])]),
})

/**
 * Reads the answer to a call with `count` pushes. Novu answers 201 whatever becomes of them, and
 * tells the outcome of each inside, in their order. An answer that has none to tell, like that of
 * a simpler provider with the same API, accepts them all.
 */
export function outcomesOf(text: string, count: number): Outcome[] {
  const answer = parseJson(text)
  if (text === '' || WithoutOutcomes.safeParse(answer).success)
    return Array<Outcome>(count).fill({ result: 'accepted', reason: 'acknowledged' })
  const reports = TriggerResponse.safeParse(answer).data?.data
  if (reports?.length !== count)
    throw new ProviderUnavailableError(
      `no outcomes of ${count} pushes in the answer: ${text.slice(0, 200)}`,
    )
  return reports.map(outcomeOf)
}

function outcomeOf({ status, error }: z.output<typeof Report>): Outcome {
  if (status === 'processed') return { result: 'accepted', reason: status }
  const details = [error ?? []].flat().map(String)
  const reason = [status, ...details].join(': ').slice(0, 200)
  const isRefused =
    REFUSALS.has(status) ||
    (status === 'error' && details.some((detail) => CONTENT_ERROR.test(detail)))
  return { result: isRefused ? 'refused' : 'unavailable', reason }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
