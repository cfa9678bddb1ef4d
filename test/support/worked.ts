/**
 * The CPU time of this process in milliseconds. It does not pass while the machine does other work.
 */
export function workedMs() {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000
}
