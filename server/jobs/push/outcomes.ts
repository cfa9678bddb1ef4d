import { z } from 'zod'
import { parseJson } from '../../core/json-text.ts'
import { ProviderUnavailableError } from './provider-call.ts'

/** The provider's answer to one push, with its own reason. */
export type PushOutcome = { result: 'accepted' | 'refused' | 'unavailable'; reason: string }

/**
 * Reasons for which another try is useless: somebody has to change the workflow, or the user's id.
 */
const REFUSALS = new Set([
  'trigger_not_active',
  'no_workflow_steps_defined',
  'no_workflow_active_steps_defined',
  'subscriber_id_missing',
  'no_tenant_found',
  'invalid_recipients',
])
/**
 * The beginnings of those reasons for an `error` that the push itself causes. Any other is a
 * problem of the provider's own.
 */
const CONTENT_ERROR = /^(workflow_not_found|trigger is missing|payload |validation |invalid )/i

const Report = z.object({ status: z.string(), error: z.unknown().optional() })
const WithoutOutcomes = z.object({ data: z.undefined().optional() })
const TriggerResponse = z.object({
  data: z.union([z.array(Report), Report.transform((report) => [report])]),
})

/**
 * Reads the answer to a call with `count` pushes. Novu always answers 201, and lists the outcome of
 * each push in the body, in order. An answer without outcomes, like that of a simpler provider with
 * the same API, accepts them all.
 */
export function outcomesOf(text: string, count: number): PushOutcome[] {
  const answer = parseJson(text)
  if (text === '' || WithoutOutcomes.safeParse(answer).success)
    return Array<PushOutcome>(count).fill({ result: 'accepted', reason: 'acknowledged' })
  const reports = TriggerResponse.safeParse(answer).data?.data
  if (reports?.length !== count)
    throw new ProviderUnavailableError(
      `no outcomes of ${count} pushes in the answer: ${text.slice(0, 200)}`,
    )
  return reports.map(outcomeOf)
}

function outcomeOf({ status, error }: z.output<typeof Report>): PushOutcome {
  if (status === 'processed') return { result: 'accepted', reason: status }
  const details = [error ?? []].flat().map(String)
  const reason = [status, ...details].join(': ').slice(0, 200)
  const isRefused =
    REFUSALS.has(status) ||
    (status === 'error' && details.some((detail) => CONTENT_ERROR.test(detail)))
  return { result: isRefused ? 'refused' : 'unavailable', reason }
}
