import { limits } from '@parley/contract'
import { describe, expect, test } from 'vitest'
import { workedMs } from '../support/worked.ts'
import { useSharedWorld } from '../support/world.ts'
import { talkIn } from './fixture.ts'

const world = useSharedWorld()
const talk = talkIn(world)

describe('mentions', () => {
  test.each<[string, string[]]>([
    ['@ben', ['ben']],
    ['hi @ben!', ['ben']],
    ['@mary-jane and @o_b.c', ['mary-jane', 'o_b.c']],
    ['@ben. @cem- @dora...', ['ben', 'cem', 'dora']],
    ['@ben @cem @ben', ['ben', 'cem']],
    ['@nobody-knows', ['nobody-knows']],
    ['(@ben)[@cem]{@dora}"@eva"', ['ben', 'cem', 'dora', 'eva']],
    ['@ben,@cem/@dora', ['ben', 'cem', 'dora']],
    ['mail ana@example.com', []],
    ['ana.b@example.com, @ben', ['ben']],
    ['a_@b', []],
    ['é@ben', []],
    ['@@ben', ['ben']],
    ['@ ben', []],
    ['@', []],
    ['@-', []],
    ['@.', []],
    ['`@ben` @cem', ['cem']],
    ['```\n@ben\n``` @cem', ['cem']],
    ['``@ben`` @cem', ['cem']],
    ['``a ` @ben`` @cem', ['cem']],
    ['``` @ben', []],
    ['a ` b @cem', ['cem']],
    ['`one\n@cem `two', ['cem']],
    ['@Zoë @日本', ['Zoë', '日本']],
    ['@Ben @ben', ['Ben', 'ben']],
    ['\n@ben\t@cem', ['ben', 'cem']],
    ['https://x.com/@ben', ['ben']],
    ['@1', ['1']],
  ])('the mentions in %j are %j', async (text, mentions) => {
    const { ben, channelId, say } = await talk()
    const sent = await say(text)
    expect(sent.mentions).toEqual(mentions)
    expect(await ben.messages.get({ channelId, messageId: sent.id })).toEqual(sent)
  })

  test('a text mentions its first hundred names, however many there are', async () => {
    const names = Array.from({ length: 2_000 }, (_, index) => `u${index}`)
    const text = names
      .map((name) => `@${name}`)
      .join(' ')
      .slice(0, limits.textLength)
    const { say } = await talk()
    const { mentions } = await say(text)
    expect(mentions).toEqual(names.slice(0, limits.mentions))
  })

  test('mentions in the longest texts are found within a second of work', async () => {
    const { say } = await talk()
    for (const text of ['@', '`', '``` ', '@.', '@-a', '`` ', '@a`', '``a`'].map((part) =>
      part.repeat(10_000 / part.length),
    )) {
      const before = workedMs()
      await say(text)
      expect(workedMs() - before).toBeLessThan(1_000)
    }
  })
})
