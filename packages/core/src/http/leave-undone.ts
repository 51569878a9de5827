import type { RequestIdempotency } from './protected-run.ts'

/**
 * For whatever refuses a request behind `idempotency()`: nothing was run, so a retry with the same key may run, and does
 * not get this refusal again.
 */
export function leaveUndone(idempotency: RequestIdempotency | undefined): void {
  idempotency?.release().catch(() => {}) // tried again in the background, or somebody has answered already
}
