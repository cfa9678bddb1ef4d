import { readConfig } from '../config/index.ts'
import { ProviderUnavailableError } from '../jobs/push/provider-call.ts'
import { setUpPush } from '../jobs/push/setup.ts'
import { errorMessage } from '../process/lifecycle.ts'

/** `parley setup-push`: configures the push provider. It can be run repeatedly. */
export async function setUp() {
  const { push } = readConfig()
  if (!push) throw new Error('PUSH_SECRET_KEY: required to configure the push provider')
  await setUpPush(push, (line) => console.log(line)).catch((error: unknown) => {
    throw error instanceof ProviderUnavailableError ? pushError(error, push.apiUrl) : error
  })
}

/** Which setting to look at when the provider does not do what it is asked. */
function pushError(error: ProviderUnavailableError, apiUrl: string) {
  const { status } = error
  if (status === undefined)
    return new Error(`PUSH_API_URL: no push provider answers at ${apiUrl} (${errorMessage(error)})`)
  if ([401, 403].includes(status))
    return new Error(`PUSH_SECRET_KEY: refused by the push provider at ${apiUrl} (${status})`)
  return new Error(`PUSH_API_URL: ${apiUrl} does not answer like a push provider (${status})`)
}
