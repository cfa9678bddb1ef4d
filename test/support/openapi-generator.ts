import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { root, run } from './consumer.ts'

type Command = [program: string, ...args: string[]]

const ARTIFACT = 'org.openapitools:openapi-generator-cli:7.25.0'
const COPY = 'org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy'
const folder = join(root, 'node_modules/.cache/openapi-generator')
const fetched = join(folder, 'openapi-generator-cli-7.25.0.jar')
const DOWNLOAD_MS = 300_000

/** It runs for seconds: to compile what is hot once more, with care, takes longer than it saves. */
const java = (jar: string): Command => [
  'java',
  '-XX:TieredStopAtLevel=1',
  '-XX:+UseSerialGC',
  '-jar',
  jar,
]

/**
 * The command of openapi-generator: of the jar in OPENAPI_GENERATOR_JAR, of a package manager, or
 * of the jar that Maven fetches once. Undefined where there is none of them, or no Java.
 */
export async function findOpenApiGenerator(): Promise<Command | undefined> {
  const given = process.env.OPENAPI_GENERATOR_JAR
  if (given) {
    return (await works([...java(given), 'version'])) ? java(given) : undefined
  }
  if (await works(['openapi-generator-cli', 'version'])) return ['openapi-generator-cli']
  if (!existsSync(fetched)) await fetchByMaven()
  return (await works([...java(fetched), 'version'])) ? java(fetched) : undefined
}

const works = ([program, ...args]: Command) =>
  run(program, args).then(
    () => true,
    () => false,
  )

/** Where there is no Maven, or nothing comes, the jar is missing, which is noticed. */
async function fetchByMaven() {
  const given = [`-Dartifact=${ARTIFACT}`, `-DoutputDirectory=${folder}`]
  await run('mvn', ['--batch-mode', '--quiet', COPY, ...given], { timeout: DOWNLOAD_MS }).catch(
    () => {},
  )
}
