/**
 * A result of this type that is JSON already. Answers of several parts are measured as JSON, and to
 * write them again would cost as much as to read them.
 */
export class JsonText<T = unknown> {
  declare readonly type: T
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

/** A result as JSON. */
export const asText = (result: unknown): string =>
  result instanceof JsonText ? result.text : JSON.stringify(result)

/** The value of JSON; undefined for any other text. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
