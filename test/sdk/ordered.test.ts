import { OrderedMessages } from '@parley/client/internal/room/ordered'
import fc from 'fast-check'
import { expect, test } from 'vitest'

type Item = { id: string; seq: number; userId: string; clientId: string; text: string }
const itemOf = (id: number, seq: number, text = '') =>
  ({ id: `m${id}`, seq, userId: `u${id % 2}`, clientId: `c${id >> 1}`, text }) satisfies Item

/** A page of messages, as a rule with the ids of their seqs, or one message anywhere. */
const batch = fc.oneof(
  fc.record({ from: fc.nat(900), size: fc.integer({ min: 1, max: 300 }), step: fc.nat(2) }),
  fc.record({ id: fc.nat(40), seq: fc.nat(1_200), text: fc.string({ maxLength: 2 }) }),
  fc.uniqueArray(fc.record({ id: fc.nat(8), seq: fc.nat(8) }), { selector: ({ id }) => id }),
)
type Batch = typeof batch extends fc.Arbitrary<infer Value> ? Value : never

function itemsOf(drawn: Batch): Item[] {
  if (Array.isArray(drawn)) return drawn.map(({ id, seq }) => itemOf(id, seq))
  if ('id' in drawn) return [itemOf(drawn.id, drawn.seq, drawn.text)]
  const { from, size, step } = drawn
  return Array.from({ length: size }, (_, at) => itemOf(from + at * step, from + at * step))
}

/** The same with an array: an item takes the place of those with its id or its seq. */
const put = (items: readonly Item[], added: Item[]) =>
  added
    .reduce(
      (all, item) => [...all.filter(({ id, seq }) => id !== item.id && seq !== item.seq), item],
      [...items],
    )
    .sort((a, b) => a.seq - b.seq)

test('every kept version of the ordered messages equals a sorted array', () => {
  const steps = fc.array(fc.record({ drawn: batch, base: fc.nat(3) }), { maxLength: 8 })
  const holds = fc.property(steps, fc.nat(1_200), fc.nat(1_200), (drawn, from, to) => {
    const versions = [{ model: [] as Item[], ordered: OrderedMessages.of<Item>() }]
    for (const { drawn: next, base } of drawn) {
      const before = versions.at(-1 - base) ?? versions[0]
      const items = itemsOf(next)
      if (before)
        versions.push({ model: put(before.model, items), ordered: before.ordered.with(items) })
    }
    for (const { model, ordered } of versions) {
      expect(ordered.values()).toEqual(model)
      expect([ordered.size, ordered.last]).toEqual([model.length, model.at(-1)])
      expect(ordered.range(from, to).flat()).toEqual(
        model.filter(({ seq }) => seq >= from && seq <= to),
      )
      for (let id = 0; id < 41; id++) {
        const known = model.find((item) => item.id === `m${id}`)
        expect(ordered.get(`m${id}`)).toBe(known)
        expect(ordered.ofClient(`u${id % 2}`, `c${id >> 1}`)).toBe(known)
      }
    }
  })
  // More messages than one part has come a second time.
  const page = { drawn: { from: 0, size: 300, step: 1 }, base: 0 }
  fc.assert(holds, { numRuns: 40, examples: [[[page, page], 0, 1_200]] })
})
