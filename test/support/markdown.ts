/** A fenced code block, as written in a Markdown page. */
export interface CodeBlock {
  /** The file it stands in, relative to the repository. */
  readonly file: string
  /** The line of its first line of code, from 1. */
  readonly line: number
  readonly language: string
  /** What stands behind the language. */
  readonly info: string
  readonly code: string
}

/** All fenced code blocks of a page; those in lists are freed of their indentation. */
export function codeBlocks(file: string, page: string): CodeBlock[] {
  const blocks: CodeBlock[] = []
  let open: (CodeBlock & { fence: RegExp; indent: RegExp; lines: string[] }) | undefined
  for (const [index, line] of page.split('\n').entries()) {
    if (open) {
      if (open.fence.test(line)) {
        blocks.push({ ...describe(open), code: open.lines.join('\n') })
        open = undefined
      } else open.lines.push(line.replace(open.indent, ''))
      continue
    }
    const [, indent = '', fence, language = '', info = ''] = OPENING.exec(line) ?? []
    if (!fence) continue
    open = {
      ...{ file, line: index + 2, language, info: info.trim(), code: '', lines: [] },
      fence: new RegExp(`^\\s*${fence}\\s*$`),
      indent: new RegExp(`^ {0,${indent.length}}`),
    }
  }
  if (open) throw new Error(`${file}:${open.line}: the code block does not end`)
  return blocks
}

/**
 * A source file as a page: what its TSDoc comments say, each line where it was, so that the examples in
 * them are found by {@link codeBlocks}.
 */
export function tsdocPage(source: string): string {
  let inside = false
  return source
    .split('\n')
    .map((line) => {
      if (line.trim() === '/**') {
        inside = true
        return ''
      }
      if (inside && line.includes('*/')) inside = false
      return inside ? line.replace(/^\s*\* ?/, '') : ''
    })
    .join('\n')
}

/**
 * What a block with `file=path` or `file=path#region` must say. A region is what stands between
 * `// #region name` and the next `// #endregion`; parts of one name are joined by an empty line.
 */
export function quotation(source: string, region: string | undefined): string {
  if (region === undefined) return source.trim()
  const parts: string[][] = []
  let part: string[] | undefined
  for (const line of source.split('\n')) {
    if (line.trim() === `// #region ${region}`) {
      part = []
      parts.push(part)
    } else if (line.trim().startsWith('// #endregion')) part = undefined
    else part?.push(line)
  }
  if (parts.length === 0) throw new Error(`there is no region ${region}`)
  return parts.map((lines) => outdent(lines).trim()).join('\n\n')
}

const OPENING = /^(\s*)(`{3,}|~{3,})(\w*)(.*)$/

function describe({ file, line, language, info }: CodeBlock): Omit<CodeBlock, 'code'> {
  return { file, line, language, info }
}

function outdent(lines: readonly string[]): string {
  const indents = lines.filter((line) => line.trim()).map((line) => line.search(/\S/))
  const least = Math.min(...indents)
  return lines.map((line) => line.slice(least)).join('\n')
}
