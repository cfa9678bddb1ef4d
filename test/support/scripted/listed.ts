import { ready, until } from '../chat.ts'
import { quiet, scriptedChat } from './index.ts'

/** A live client whose list of two channels is loaded. */
export async function listed() {
  const chat = scriptedChat()
  const [one, two] = [chat.channel('one'), chat.channel('two')]
  one.send('first')
  two.send('second')
  await chat.chat.connect()
  const list = chat.chat.channels()
  await until(list, ready)
  await quiet()
  return { ...chat, one, two, list }
}
