/** A well-formed id that nothing has. */
export const unknownId = '019c9b1e-7a52-7cc1-8f0e-3d2f5b6a7c81'
