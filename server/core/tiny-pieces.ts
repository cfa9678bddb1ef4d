const TINY_BYTES = 16

/**
 * Whether a body came in more pieces than `most`, and most of them tiny: each takes microseconds,
 * as many of which are spent on a body of single bytes as on thousands of requests.
 */
export const isInTinyPieces = (
  { pieces, bytes }: { pieces: number; bytes: number },
  most: number,
) => pieces > most && bytes < pieces * TINY_BYTES
