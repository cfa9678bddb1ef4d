const QUOTE = 0x22
const COMMA = 0x2c
const OPENING_BRACKET = 0x5b
const BACKSLASH = 0x5c
const OPENING_BRACE = 0x7b

/**
 * Whether JSON may contain more values than this: at most one follows each comma and each opening
 * bracket outside strings. Scanning the bytes takes a fraction of the time of parsing.
 */
export function hasMoreValues(json: Buffer, most: number) {
  let values = 1
  for (let index = 0; index < json.length && values <= most; index++) {
    const byte = json[index]
    if (byte === QUOTE) index = endOfString(json, index)
    else if (byte === COMMA || byte === OPENING_BRACKET || byte === OPENING_BRACE) values += 1
  }
  return values > most
}

/** The index at which the string that begins here ends. */
function endOfString(json: Buffer, start: number) {
  let index = start + 1
  while (index < json.length && json[index] !== QUOTE) {
    index += json[index] === BACKSLASH ? 2 : 1
  }
  return index
}
