/** What became of one request; times in milliseconds from the start of the run. */
export interface Outcome {
  readonly sentMs: number
  readonly answeredMs: number
  readonly passed: boolean
  /** Whether the limiter made it wait for its turn. */
  readonly waited: boolean
}

/** What the summary tells of one contender. */
export interface Tally {
  readonly passed: number
  readonly refused: number
  readonly longestWaitMs: number
  /** The window's length in which most requests passed. */
  readonly fullest: { readonly fromMs: number; readonly passed: number }
}

export function tally(outcomes: readonly Outcome[], windowMs: number): Tally {
  const passed = outcomes.filter((outcome) => outcome.passed)
  const waits = passed.filter(({ waited }) => waited).map((o) => o.answeredMs - o.sentMs)
  return {
    passed: passed.length,
    refused: outcomes.length - passed.length,
    longestWaitMs: Math.max(0, ...waits),
    fullest: fullest(
      passed.map((outcome) => outcome.answeredMs),
      windowMs,
    ),
  }
}

/** The fullest window begins with a request, so these are all that need a look. */
function fullest(times: readonly number[], windowMs: number): Tally['fullest'] {
  const windows = times.map((fromMs) => ({
    fromMs,
    passed: times.filter((time) => time >= fromMs && time < fromMs + windowMs).length,
  }))
  return windows.reduce((a, b) => (b.passed > a.passed ? b : a), { fromMs: 0, passed: 0 })
}
