import { RUN_MS } from './arrivals.ts'
import type { Outcome } from './outcome.ts'

/** A run in columns of equal time; each list holds one number a column. */
export interface Timeline {
  readonly arrived: readonly number[]
  readonly passed: readonly number[]
  readonly refused: readonly number[]
  /** In line at the middle of the column. */
  readonly waiting: readonly number[]
}

export const COLUMN_MS = 250
export const COLUMNS: number = RUN_MS / COLUMN_MS

export function timeline(outcomes: readonly Outcome[]): Timeline {
  const passed = outcomes.filter((outcome) => outcome.passed)
  const refused = outcomes.filter((outcome) => !outcome.passed)
  const waited = outcomes.filter((outcome) => outcome.waited)
  return {
    arrived: count(outcomes.map((outcome) => outcome.sentMs)),
    passed: count(passed.map((outcome) => outcome.answeredMs)),
    refused: count(refused.map((outcome) => outcome.answeredMs)),
    waiting: columns((column) => {
      const middleMs = (column + 0.5) * COLUMN_MS
      return waited.filter((o) => o.sentMs <= middleMs && middleMs < o.answeredMs).length
    }),
  }
}

function count(times: readonly number[]): number[] {
  const counts = columns(() => 0)
  for (const time of times) {
    const column = Math.min(COLUMNS - 1, Math.floor(time / COLUMN_MS))
    counts[column] = (counts[column] ?? 0) + 1
  }
  return counts
}

function columns(value: (column: number) => number): number[] {
  return Array.from({ length: COLUMNS }, (_, column) => value(column))
}
