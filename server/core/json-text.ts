/**
 * A result of this type that is JSON text already. The parts of an answer are measured as text;
 * to parse them and write them again would cost far more.
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

/** Whether a value is an object or a list. */
export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null

/** Whether a value is an object, and no list. */
export const isRecord = (value: unknown): value is Record<string, unknown> =>
  isObject(value) && !Array.isArray(value)

/** The value of JSON; undefined for any other text. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
