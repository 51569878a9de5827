import { parseArgs } from 'node:util'

export interface Arguments {
  readonly quick: boolean
  /** Only the suites whose name contains this. */
  readonly only: string
  /** Where the Markdown goes: a file, or the standard output with ''. */
  readonly markdown: string | undefined
}

export const usage = `pnpm bench [--quick] [--only <suite>] [--markdown[=<file>]]
`

export function readArguments(words: readonly string[]): Arguments {
  const { values } = parseArgs({
    args: words.map((word) => (word === '--markdown' ? '--markdown=' : word)),
    options: {
      quick: { type: 'boolean', default: false },
      only: { type: 'string', default: '' },
      markdown: { type: 'string' },
    },
  })
  return { quick: values.quick, only: values.only, markdown: values.markdown }
}
