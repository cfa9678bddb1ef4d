import type { KeyboardEvent } from 'react'

/** The code of every key that an input method handles. */
const HANDLED = 229

/**
 * Whether a key is for an input method, such as Enter that ends a word. Safari ends the composition
 * before that key, and only the code tells.
 */
export const isForInputMethod = ({ nativeEvent }: KeyboardEvent) =>
  nativeEvent.isComposing || nativeEvent.keyCode === HANDLED
