import fc from 'fast-check'

const FIRST_SURROGATE = 0xd800
const SURROGATES = 0x800
const CODE_POINTS = 0x110000

// Made once: all characters are listed for it.
const graphemes = fc.string({ unit: 'grapheme', maxLength: 60 })
export const anyText = fc.oneof(graphemes, textOfCodePoints({ maxLength: 60 }))

/** Any characters but surrogates. The `binary` unit of fast-check would list a million first. */
export function textOfCodePoints(constraints: fc.ArrayConstraints = {}) {
  const codePoint = fc
    .nat(CODE_POINTS - SURROGATES - 1)
    .map((index) => (index < FIRST_SURROGATE ? index : index + SURROGATES))
  return fc.array(codePoint, constraints).map((points) => String.fromCodePoint(...points))
}
