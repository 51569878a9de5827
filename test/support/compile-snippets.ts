import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { CodeBlock } from './markdown.ts'
import { ROOT } from './run-example.ts'

/**
 * Compiles each block as a module of its own, as in a user's strict project, and returns what the
 * compiler says, with file and line of the page that the block stands in.
 */
export async function compileSnippets(blocks: readonly CodeBlock[]): Promise<string[]> {
  await mkdir(join(ROOT, '.tsc'), { recursive: true })
  // Inside the repository, so that the packages are found.
  const folder = await mkdtemp(join(ROOT, '.tsc', 'snippets-'))
  try {
    for (const [index, { line, code }] of blocks.entries())
      await writeFile(join(folder, `${index}.ts`), '\n'.repeat(line - 1) + code)
    await writeFile(join(folder, 'tsconfig.json'), JSON.stringify(CONFIGURATION))
    return errorsOf(await compile(folder), blocks)
  } finally {
    await rm(folder, { recursive: true })
  }
}

const CONFIGURATION = {
  extends: '../../tsconfig.base.json',
  compilerOptions: {
    noEmit: true,
    allowImportingTsExtensions: true,
    rewriteRelativeImportExtensions: false,
    composite: false,
    declaration: false,
    declarationMap: false,
    isolatedDeclarations: false,
    noPropertyAccessFromIndexSignature: false, // few projects have it: they write process.env.REDIS_URL
  },
  include: ['*.ts'],
}

function compile(folder: string): Promise<string> {
  const compiler = join(ROOT, 'node_modules/.bin/tsc')
  return new Promise((resolve, reject) => {
    execFile(compiler, ['--pretty', 'false', '-p', folder], { cwd: folder }, (error, stdout) => {
      if (error && stdout === '') reject(error)
      else resolve(stdout)
    })
  })
}

/** `3.ts(12,5): error TS…` becomes `docs/page.md:12: TS…`; errors elsewhere are for `tsc -b` to tell. */
function errorsOf(output: string, blocks: readonly CodeBlock[]): string[] {
  return output.split('\n').flatMap((text) => {
    const [, index, line, message] = /^(\d+)\.ts\((\d+),\d+\): error (.*)$/.exec(text) ?? []
    return index ? [`${blocks[Number(index)]?.file}:${line}: ${message}`] : []
  })
}
