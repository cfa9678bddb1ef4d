import { readConfig } from '../config.ts'
import { setUpPush } from '../jobs/push/setup.ts'
import { errorMessage } from '../lifecycle.ts'

/** `npm run setup:push`: prepares the push provider for us. It may be run again. */
async function start() {
  const { push } = readConfig()
  if (!push) throw new Error('PUSH_SECRET_KEY: required to talk to the push provider')
  await setUpPush(push, (line) => console.log(line))
}

start().catch((error) => {
  console.error(errorMessage(error))
  process.exitCode = 1
})
