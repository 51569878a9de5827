/** The same cells as text for a terminal and as Markdown. */
export interface Table {
  readonly head: readonly string[]
  readonly body: readonly (readonly string[])[]
}

/** A cell of several lines takes several lines. */
export function plainTable({ head, body }: Table): string {
  const lines = [head, ...body].map((line) => line.map((cell) => cell.split('\n')))
  const widths = head.map((_, column) =>
    Math.max(...lines.flatMap((line) => (line[column] ?? []).map((text) => text.length))),
  )
  const draw = (line: readonly (readonly string[])[]) =>
    Array.from({ length: Math.max(...line.map((cell) => cell.length)) }, (_, row) =>
      widths
        .map((width, column) => (line[column]?.[row] ?? '').padEnd(width))
        .join('  ')
        .trimEnd(),
    ).join('\n')
  const rule = widths.map((width) => ['-'.repeat(width)])
  const [title = [], ...rest] = lines
  return `${[title, rule, ...rest].map(draw).join('\n')}\n`
}

export function markdownTable({ head, body }: Table): string {
  const draw = (line: readonly string[]) =>
    `| ${line.map((cell) => cell.replaceAll('\n', '<br>')).join(' | ')} |`
  return `${[head, head.map(() => '---'), ...body].map(draw).join('\n')}\n`
}
