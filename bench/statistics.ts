export function median(values: readonly number[]): number {
  return quantile(values, 0.5)
}

/** The value below which `share` (0 to 1) of the values lie; NaN when there are none. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = Float64Array.from(values).sort()
  const at = (sorted.length - 1) * share
  const low = sorted[Math.floor(at)] ?? Number.NaN
  const high = sorted[Math.ceil(at)] ?? Number.NaN
  return low === high ? low : low + (high - low) * (at - Math.floor(at)) // two infinities have no difference
}
