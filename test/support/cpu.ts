/**
 * The milliseconds of processor time that this process, with its server, took for the work. Unlike
 * a delay, it does not depend on what else the machine does.
 */
export async function processorMs(work: () => Promise<unknown>) {
  const before = process.cpuUsage()
  await work()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1_000
}
