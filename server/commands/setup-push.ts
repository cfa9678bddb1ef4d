import { readConfig } from '../config.ts'
import { setUpPush } from '../jobs/push/setup.ts'

/** `parley setup-push`: configures the push provider. It can be run repeatedly. */
export async function setUp() {
  const { push } = readConfig()
  if (!push) throw new Error('PUSH_SECRET_KEY: required to configure the push provider')
  await setUpPush(push, (line) => console.log(line))
}
