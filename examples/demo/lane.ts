import type { Colour, Terminal } from './terminal.ts'

/** What a character stands for. */
export type Sign = readonly [sign: string, colour: Colour]

/** A stretch of time in a lane; `least`: so many columns at any rate. */
export interface Stretch {
  readonly sign: Sign
  readonly fromMs: number
  readonly toMs: number
  readonly least?: number
}

const COLUMNS = 56
/** At least this much in a column; more when the play took longer. */
const COLUMN_MS = 40

/** A line of a picture in which time goes to the right: stretches one after the other, and how it ended. */
export function lane(
  label: string,
  stretches: readonly Stretch[],
  end: Sign | undefined,
  nowMs: number,
  terminal: Terminal,
): string {
  const columnMs = Math.max(COLUMN_MS, nowMs / COLUMNS)
  const column = (ms: number) => Math.floor(ms / columnMs)
  const before = ' '.repeat(column(stretches[0]?.fromMs ?? 0))
  const drawn = stretches.map(({ sign: [sign, colour], fromMs, toMs, least = 0 }) => {
    const length = Math.max(least, column(toMs) - column(fromMs))
    return length > 0 ? terminal.paint(colour, sign.repeat(length)) : ''
  })
  return label + before + drawn.join('') + (end ? terminal.paint(end[1], end[0]) : '')
}

/** What the signs mean, in one line. */
export function legend(signs: Readonly<Record<string, Sign>>, terminal: Terminal): string {
  return Object.entries(signs)
    .map(([word, [sign, colour]]) => `${terminal.paint(colour, sign)} ${word}`)
    .join('   ')
}
