/** Whether the server takes this as a user's id: anything else would be an error. */
export const isId = (text: string) =>
  /^[!-.0-~]{1,255}$/.test(text) && text !== '.' && text !== '..'
