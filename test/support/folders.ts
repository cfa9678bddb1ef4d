import { accessSync, chmodSync, constants, mkdtempSync, realpathSync, statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/**
 * A folder for the files of a database, which every user may enter: root runs the server as another
 * user. The caller removes it.
 */
export function createDataFolder(name: string) {
  const folder = realpathSync(mkdtempSync(join(fastest(), `parley-${name}-`)))
  chmodSync(folder, 0o755)
  return folder
}

const NEEDED_BYTES = 4 * 1024 ** 3

/** In memory if there is room: making a database's files takes ten times as long on a disk. */
function fastest() {
  const memory = '/dev/shm'
  try {
    accessSync(memory, constants.W_OK)
    const { bavail, bsize } = statfsSync(memory)
    return bavail * bsize > NEEDED_BYTES ? memory : tmpdir()
  } catch {
    return tmpdir()
  }
}
