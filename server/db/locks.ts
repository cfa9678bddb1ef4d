/** The keys of all advisory locks, side by side so that no two are the same. */
export const locks = {
  migration: 7_305_217,
  cleanup: 7_305_218,
  demoApp: 7_305_219,
  release: 7_305_220,
}
