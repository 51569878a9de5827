import { duration, type Rule } from '@sluice/core/store-kit'

/**
 * How long to wait after the failure of an attempt (1 for the first): a function of it, in milliseconds, or from
 * `baseMs` on twice as long each time, at most `maxMs`, and a random part of that.
 */
export type Backoff =
  | ((attempt: number) => number)
  | { readonly baseMs: number; readonly maxMs: number }

export const backoffRule: Rule = {
  expected: 'a function of the attempt, or { baseMs, maxMs } in milliseconds from 1',
  accepts: (value) => typeof value === 'function' || isRange(value),
}

export const defaultBackoff: { readonly baseMs: number; readonly maxMs: number } = {
  baseMs: 1000,
  maxMs: 300_000,
}

/** In whole milliseconds from 0; nonsense from a function is as long as the longest default. */
export function delayAfter(attempt: number, backoff: Backoff): number {
  if (typeof backoff === 'function') {
    const delayMs = Math.ceil(backoff(attempt))
    return delayMs >= 0 && delayMs <= LONGEST_MS ? delayMs : defaultBackoff.maxMs
  }
  const { baseMs, maxMs } = backoff
  return Math.ceil(Math.random() * Math.min(maxMs, baseMs * 2 ** (attempt - 1)))
}

function isRange(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  const [baseMs, maxMs] = [Reflect.get(value, 'baseMs'), Reflect.get(value, 'maxMs')]
  return Object.keys(value).length === 2 && [baseMs, maxMs].every(oneMs.accepts) && baseMs <= maxMs
}

const oneMs = duration(1)

const LONGEST_MS = 3_653 * 86_400_000
