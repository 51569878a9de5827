/** All five limiters let this many requests through in `WINDOW_MS`, each in its own way. */
export const LIMIT = 12
export const WINDOW_MS = 3000

/** The length of a run; the last arrivals leave the leaky bucket's line time to empty. */
export const RUN_MS = 16_000

/**
 * When requests arrive, in milliseconds from the start; the same for every algorithm. A fixed window opens
 * with the first request, so its boundary is at 3 s: a crowd before it, a crowd after it. Then a pause in
 * which everybody's quota comes back, a third crowd, and six seconds of twice what is allowed.
 */
export const arrivals: readonly number[] = [
  0,
  ...evenly(11, { from: 2510, everyMs: 12 }),
  ...evenly(14, { from: 3260, everyMs: 12 }),
  ...evenly(14, { from: 6510, everyMs: 12 }),
  ...evenly(46, { from: 6790, everyMs: 125 }),
]

function evenly(count: number, { from, everyMs }: { from: number; everyMs: number }): number[] {
  return Array.from({ length: count }, (_, index) => from + index * everyMs)
}
