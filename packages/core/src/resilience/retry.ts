/**
 * Tries again in the background, less and less often, until `attempt` resolves or `untilMs` (of the monotonic clock)
 * has come; resolves with what it brought, or undefined. Its timers keep no process alive.
 */
export async function retryUntil<T>(
  untilMs: number,
  attempt: () => Promise<T>,
  longestPauseMs: number = LONGEST_PAUSE_MS,
): Promise<T | undefined> {
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(2 * pauseMs, longestPauseMs)) {
    // Those who failed together do not come back together.
    const waitMs = pauseMs * (0.5 + Math.random() / 2)
    if (performance.now() + waitMs >= untilMs) return undefined
    await new Promise((resolve) => setTimeout(resolve, waitMs).unref())
    const done = await attempt().then(
      (value) => ({ value }),
      () => undefined,
    )
    if (done) return done.value
  }
}

const FIRST_PAUSE_MS = 100
const LONGEST_PAUSE_MS = 2000
