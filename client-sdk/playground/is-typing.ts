/** Whether a key that was pressed there is text, and no shortcut. */
export const isTyping = (target: EventTarget | null) =>
  target instanceof HTMLElement && target.matches('input, textarea')
