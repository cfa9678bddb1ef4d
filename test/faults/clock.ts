import { writeFileSync } from 'node:fs'

/** A clock of a program, by a library that reads in a file how far it is ahead of the real one. */
export function openClock(path: string, library: string | undefined) {
  const set = (seconds: number) => writeFileSync(path, `${seconds >= 0 ? '+' : ''}${seconds}`)
  set(0)
  return {
    set,
    /** Of the program; empty without the library. */
    environment: library === undefined ? {} : environmentOf(path, library),
  }
}

const environmentOf = (path: string, library: string) => ({
  LD_PRELOAD: library,
  FAKETIME_TIMESTAMP_FILE: path,
  FAKETIME_NO_CACHE: '1',
  FAKETIME_DONT_FAKE_MONOTONIC: '1',
})
