/** So many milliseconds this process has worked. Other than the time of day they stand still while the machine does something else. */
export function workedMs() {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000
}
