/** Milliseconds of the machine's monotonic clock: the same for all of its processes, whatever their wall clocks say. */
export function nowMs(): number {
  return Number(process.hrtime.bigint()) / 1e6
}
