import { readConfig } from '../config.ts'
import { setUpPush } from '../jobs/push/setup.ts'
import { errorMessage } from '../lifecycle.ts'

/** `npm run setup:push`: configures the push provider. It can be run repeatedly. */
async function start() {
  const { push } = readConfig()
  if (!push) throw new Error('PUSH_SECRET_KEY: required to configure the push provider')
  await setUpPush(push, (line) => console.log(line))
}

start().catch((error) => {
  console.error(errorMessage(error))
  process.exitCode = 1
})
