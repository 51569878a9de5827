import { setTimeout as sleep } from 'node:timers/promises'

/**
 * Asks again until `check` neither throws nor returns `false`, and returns its value; after `withinMs` (default 5,000)
 * the last failure is thrown. For what announces itself by no event.
 */
export async function eventually<T>(
  check: () => T | Promise<T>,
  { withinMs = 5000, everyMs = 20 }: { withinMs?: number; everyMs?: number } = {},
): Promise<T> {
  const deadline = performance.now() + withinMs
  for (;;) {
    const last = await attempt(check)
    if ('value' in last) return last.value
    if (performance.now() >= deadline)
      throw new Error(`still not so after ${withinMs} ms`, { cause: last.failure })
    await sleep(everyMs)
  }
}

async function attempt<T>(
  check: () => T | Promise<T>,
): Promise<{ value: T } | { failure: unknown }> {
  try {
    const value = await check()
    return value === false ? { failure: 'the check returned false' } : { value }
  } catch (failure) {
    return { failure }
  }
}
