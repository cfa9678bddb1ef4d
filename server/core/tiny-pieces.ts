const TINY_BYTES = 16

/**
 * Whether a body came in more pieces than `most`, and most of them tiny. A piece takes microseconds
 * however small it is, so a body in single bytes would cost as much as thousands of requests.
 */
export const isInTinyPieces = (
  { pieces, bytes }: { pieces: number; bytes: number },
  most: number,
) => pieces > most && bytes < pieces * TINY_BYTES
