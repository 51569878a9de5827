/** The largest Integer of RFC 9651: 15 digits. */
export const MAX_INTEGER = 999_999_999_999_999

/** Whole seconds that are never too early; the only place where milliseconds become seconds. */
export function secondsUp(ms: number): number {
  return Math.min(MAX_INTEGER, Math.max(0, Math.ceil(ms / 1000)))
}
