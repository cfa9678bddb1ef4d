/** The known text of a message that grows: a part from the offset `at` on, or all of it. */
export type Growth = { at: number | undefined; text: string; hasEnded: boolean }

/** The texts that a watcher has had, one after the other, by the documented rule. */
export function splicedTexts(growths: Growth[]) {
  const texts = ['']
  let hasEnded = false
  for (const { at, text, ...growth } of growths) {
    const last = texts.at(-1) ?? ''
    // A part that comes after the end is in the text.
    const isPart = at !== undefined && !hasEnded && at <= last.length
    if (isPart) texts.push(last + text.slice(last.length - at))
    if (at === undefined) {
      texts.push(last.startsWith(text) ? last : text)
      hasEnded = growth.hasEnded
    }
  }
  return texts
}
