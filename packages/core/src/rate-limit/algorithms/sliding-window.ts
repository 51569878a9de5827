import type { CountingAlgorithm } from './algorithm.ts'
import { portion } from './portion.ts'

/** The counts of two adjacent windows, and when the current one started. */
export interface SlidingWindowState {
  readonly startedAt: number
  readonly previous: number
  current: number
}

/**
 * The previous count weighs as much as the sliding window still covers of it, rounded up.
 * Twin: `lua/rate-limit/sliding-window.lua`.
 */
export const slidingWindowAlgorithm: CountingAlgorithm<SlidingWindowState> = {
  read(stored, { windowMs }, now) {
    if (!stored) return { startedAt: now, previous: 0, current: 0 }
    const elapsedMs = now - stored.startedAt
    // A clock that was set back must not stretch the window.
    if (elapsedMs < 0) return { ...stored, startedAt: now }
    if (elapsedMs < windowMs) return stored
    if (elapsedMs >= 2 * windowMs || stored.current === 0)
      return { startedAt: now, previous: 0, current: 0 }
    return { startedAt: stored.startedAt + windowMs, previous: stored.current, current: 0 }
  },
  available({ startedAt, previous, current }, { limit, windowMs }, now) {
    const weighted = previous - portion(previous, now - startedAt, windowMs)
    return limit - current - weighted
  },
  waitMs({ startedAt, previous, current }, { limit, windowMs }, now, cost) {
    const leftMs = windowMs - (now - startedAt)
    const room = limit - cost
    if (current <= room) return leftMs - portion(room - current, windowMs, previous)
    return leftMs + windowMs - portion(room, windowMs, current)
  },
  resetMs({ startedAt, previous, current }, { windowMs }, now) {
    if (current > 0) return startedAt + 2 * windowMs - now
    return previous > 0 ? startedAt + windowMs - now : 0
  },
  keepMs: (_state, { windowMs }) => 2 * windowMs,
  delayMs: () => 0,
  charge(state, _policy, _now, cost) {
    state.current += cost
    return state
  },
  refund({ startedAt, previous, current }, _policy, _now, cost) {
    const left = {
      startedAt,
      current: Math.max(0, current - cost),
      previous: Math.max(0, previous - Math.max(0, cost - current)),
    }
    return left.current + left.previous > 0 ? left : undefined
  },
}
