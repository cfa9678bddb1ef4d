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

/** A part of an address: characters that may stand there, and any others, escaped. */
const inAddress = (plain: string) =>
  fc
    .array(
      fc.oneof(
        { weight: 4, arbitrary: fc.constantFrom(...plain) },
        { weight: 1, arbitrary: textOfCodePoints({ maxLength: 1 }).map(encodeURIComponent) },
      ),
      { maxLength: 10 },
    )
    .map((parts) => parts.join(''))

const UNRESERVED = "abcxyzABCXYZ0189-._~!$&'()*+,;=:@"
const rest = inAddress(`${UNRESERVED}/?`)
/** Addresses of the web. The arbitrary of fast-check lists all characters first, several times. */
export const webUrl = fc
  .record({
    scheme: fc.constantFrom('http', 'https'),
    host: fc.domain(),
    path: fc.array(inAddress(UNRESERVED), { maxLength: 4 }),
    query: fc.option(rest),
    fragment: fc.option(rest),
  })
  .map(({ scheme, host, path, query, fragment }) => {
    const [asked, marked] = [
      query === null ? '' : `?${query}`,
      fragment === null ? '' : `#${fragment}`,
    ]
    return `${scheme}://${host}${path.map((part) => `/${part}`).join('')}${asked}${marked}`
  })
