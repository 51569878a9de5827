import type { CountingAlgorithm } from './algorithm.ts'

/** One counter, and when its window ends. */
export interface FixedWindowState {
  used: number
  readonly endsAt: number
}

/** The window starts at a subject's first request. Twin: `lua/rate-limit/fixed-window.lua`. */
export const fixedWindowAlgorithm: CountingAlgorithm<FixedWindowState> = {
  read(stored, { windowMs }, now) {
    if (!stored || now >= stored.endsAt) return { used: 0, endsAt: now + windowMs }
    // A window that was shortened since ends no later than a new one would.
    return stored.endsAt <= now + windowMs ? stored : { used: stored.used, endsAt: now + windowMs }
  },
  available: ({ used }, { limit }) => limit - used,
  waitMs: ({ endsAt }, _policy, now) => endsAt - now,
  resetMs: ({ used, endsAt }, _policy, now) => (used > 0 ? endsAt - now : 0),
  delayMs: () => 0,
  refused: (state) => state,
  charge(state, _policy, _now, cost) {
    state.used += cost
    return state
  },
  refund: ({ used, endsAt }, _policy, _now, cost) =>
    used > cost ? { used: used - cost, endsAt } : undefined,
}
