import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { compileSnippets } from '../support/compile-snippets.ts'
import { type CodeBlock, codeBlocks, quotation, tsdocPage } from '../support/markdown.ts'
import { ROOT } from '../support/run-example.ts'

describe('code in the documentation', () => {
  it('is the code of the example that it names', async () => {
    for (const block of (await documents()).filter(sourceOf)) {
      const { file, region } = sourceOf(block) ?? { file: '' }
      const expected = quotation(await readFile(join(ROOT, file), 'utf8'), region)
      expect(block.code.trim(), `${block.file}:${block.line} quotes ${block.info}`).toBe(expected)
    }
  })

  it('compiles, where it names no example', async () => {
    const blocks = (await documents()).filter((block) => isTypeScript(block) && !sourceOf(block))
    expect(await compileSnippets(blocks)).toEqual([])
  })

  it('compiles in the comments of the packages', async () => {
    const blocks = await tsdocBlocks()
    expect(blocks.length).toBeGreaterThan(10)
    expect(await compileSnippets(blocks)).toEqual([])
  })

  it('follows every @example in the comments of the packages', async () => {
    for (const [file, source] of await sources()) {
      const without = source.match(/@example[^\n]*\n(?!\s*\* ```ts\n)/g) ?? []
      expect(without, `${file}: an @example begins with a block of language ts`).toEqual([])
    }
  })
})

describe('the check of the documentation', () => {
  it('finds blocks of any fence, in lists too, and tells where they stand', () => {
    const page =
      'text\n```ts file=a.ts#b\none\n```\n1. item\n   ~~~ts\n   two\n     three\n   ~~~\n'
    expect(codeBlocks('page.md', page)).toEqual([
      { file: 'page.md', line: 3, language: 'ts', info: 'file=a.ts#b', code: 'one' },
      { file: 'page.md', line: 7, language: 'ts', info: '', code: 'two\n  three' },
    ])
  })

  it('finds blocks in comments, on their own lines', () => {
    const source = 'code\n/**\n * Text.\n * ```ts\n * one()\n *   two()\n * ```\n */\n// ```ts\n'
    expect(codeBlocks('a.ts', tsdocPage(source))).toMatchObject([
      { line: 5, code: 'one()\n  two()' },
    ])
  })

  it('joins the parts of a region, and misses a region that is not there', () => {
    const source = '// #region a\none\n// #endregion\nno\n  // #region a\n  two\n  // #endregion\n'
    expect(quotation(source, 'a')).toBe('one\n\ntwo')
    expect(() => quotation(source, 'b')).toThrow('there is no region b')
  })

  it('tells where a block does not compile', async () => {
    const wrong = "import { rateLimit } from '@sluice/express'\nrateLimit({ windowMs: 1 })"
    const block = { file: 'page.md', line: 40, language: 'ts', info: '', code: wrong }
    expect(await compileSnippets([block])).toEqual([expect.stringMatching(/^page\.md:41: TS2\d+/)])
  })
})

const isTypeScript = ({ language }: CodeBlock) => language === 'ts' || language === 'typescript'

function sourceOf({ info }: CodeBlock): { file: string; region?: string } | undefined {
  const [, file, region] = /\bfile=([^\s#]+)(?:#(\S+))?/.exec(info) ?? []
  return file ? { file, ...(region && { region }) } : undefined
}

async function documents(): Promise<CodeBlock[]> {
  const pages = await files('', /^(docs\/.*|examples\/.*|packages\/\w+\/\w+|\w+)\.md$/)
  const blocks = await Promise.all(
    pages.map(async (page) => codeBlocks(page, await readFile(join(ROOT, page), 'utf8'))),
  )
  return blocks.flat()
}

async function tsdocBlocks(): Promise<CodeBlock[]> {
  return (await sources())
    .flatMap(([file, source]) => codeBlocks(file, tsdocPage(source)))
    .filter(isTypeScript)
}

async function sources(): Promise<[string, string][]> {
  const paths = await files('packages', /^packages\/\w+\/src\/.*\.ts$/)
  return Promise.all(
    paths.map(async (path) => [path, await readFile(join(ROOT, path), 'utf8')] as [string, string]),
  )
}

/** Paths below `folder`, relative to the repository; installed and generated things are left out. */
async function files(folder: string, pattern: RegExp): Promise<string[]> {
  const found: string[] = []
  for (const entry of await readdir(join(ROOT, folder), { withFileTypes: true })) {
    const path = join(folder, entry.name)
    if (entry.isFile() && pattern.test(path)) found.push(path)
    if (entry.isDirectory() && !/^(node_modules|dist|generated|\..*)$/.test(entry.name))
      found.push(...(await files(path, pattern)))
  }
  return found
}
