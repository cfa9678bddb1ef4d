const QUOTE = 0x22
const COMMA = 0x2c
const OPENING_BRACKET = 0x5b
const BACKSLASH = 0x5c
const OPENING_BRACE = 0x7b

/**
 * Whether JSON may have more values than this: one follows each comma and each opening bracket that
 * is not within a string. To look at its bytes takes a fraction of parsing them.
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

/** Where the string ends that begins here. */
function endOfString(json: Buffer, start: number) {
  let index = start + 1
  while (index < json.length && json[index] !== QUOTE) index += json[index] === BACKSLASH ? 2 : 1
  return index
}
