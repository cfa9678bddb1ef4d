import { join } from 'node:path'
import { API, type Project } from 'typescript-native/unstable/sync'

const root = join(import.meta.dirname, '../..')

/**
 * Reads a project of the repository, by the path of its settings, with the native compiler: that
 * takes a fraction of the processor time of the one in JavaScript.
 */
export function withCompiler<T>(settings: string, read: (project: Project) => T): T {
  const configFile = join(root, settings)
  const api = new API({ cwd: root })
  try {
    const project = api.updateSnapshot({ openProjects: [configFile] }).getProject(configFile)
    if (!project) throw new Error(`${configFile} was not opened`)
    return read(project)
  } finally {
    api.close()
  }
}
