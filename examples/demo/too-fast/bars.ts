const EIGHTHS = ['', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█']
/** One eighth of a character is one request. */
const STEPS = 8

/**
 * Upright bars, one character wide, as lines from top to bottom; as many as the highest bar needs, at
 * least one. `empty` fills what no bar covers.
 */
export function bars(values: readonly number[], empty: (column: number) => string): string[] {
  const height = Math.max(1, Math.ceil(Math.max(...values) / STEPS))
  const lines: string[] = []
  for (let line = height - 1; line >= 0; line--) {
    const cells = values.map((value, column) => {
      const steps = Math.min(STEPS, Math.max(0, value - line * STEPS))
      return EIGHTHS[steps] || empty(column)
    })
    lines.push(cells.join(''))
  }
  return lines
}
