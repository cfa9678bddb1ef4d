export type LogLine = Record<string, unknown> & { level: string; time: string; msg: string }

/** All that a server has written: in production each line is JSON. */
export function logLines({ output }: { output: () => string }) {
  const complete = output().slice(0, output().lastIndexOf('\n'))
  return complete.split('\n').map((line) => JSON.parse(line) as LogLine)
}
