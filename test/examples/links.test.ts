import { access, readdir, readFile } from 'node:fs/promises'
import { dirname, join, relative, resolve } from 'node:path'
import { describe, expect, it } from 'vitest'
import { anchors, type Link, links } from '../support/links.ts'
import { ROOT } from '../support/run-example.ts'

describe('links in the documentation', () => {
  it('lead to files and headings that are there', async () => {
    const dead = (await pages()).map(async (path) => {
      const page = await readFile(path, 'utf8')
      const reasons = links(page).map((link) => deadEnd(path, link))
      return (await Promise.all(reasons)).filter((reason) => reason !== undefined)
    })
    expect((await Promise.all(dead)).flat()).toEqual([])
  })

  it('lead to every page below docs/', async () => {
    const all = await pages()
    const reached = new Set<string>()
    for (const path of all)
      for (const { target } of links(await readFile(path, 'utf8')))
        reached.add(resolve(dirname(path), target.replace(/#.*$/, '')))
    const below = all.filter((path) => path.startsWith(join(ROOT, 'docs')))
    expect(below.length).toBeGreaterThan(15)
    expect(below.filter((path) => !reached.has(path)).map(named)).toEqual([])
  })
})

describe('the check of links', () => {
  it('finds links and pictures outside of code, and tells where they stand', () => {
    const page = '[a](b.md#c) ![d](e.svg)\n```md\n[f](g.md)\n```\n`[h](i.md)` and [j](#k)\n'
    expect(links(page)).toEqual([
      { line: 1, target: 'b.md#c' },
      { line: 1, target: 'e.svg' },
      { line: 5, target: '#k' },
    ])
  })

  it('names headings as GitHub does', () => {
    const page =
      '# What’s new?\n## `SLUICE_CODE`\n## Add a store\n## Add a store\n```sh\n# no\n```\n'
    expect([...anchors(page)]).toEqual(['whats-new', 'sluice_code', 'add-a-store', 'add-a-store-1'])
  })

  it('misses a file, a heading, and a file outside of the repository', async () => {
    const from = join(ROOT, 'docs/errors.md')
    const reasons = ['nowhere.md', '#nowhere', '../../nowhere.md', '#configuration', '../LICENSE']
    const dead = await Promise.all(reasons.map((target) => deadEnd(from, { line: 7, target })))
    expect(dead).toEqual([
      'docs/errors.md:7: no file nowhere.md',
      'docs/errors.md:7: no heading #nowhere',
      'docs/errors.md:7: no file ../../nowhere.md',
      undefined,
      undefined,
    ])
  })
})

/** What is wrong with a link; undefined when nothing is, or when it leads into the world. */
async function deadEnd(from: string, { line, target }: Link): Promise<string | undefined> {
  if (/^[a-z]+:/.test(target)) return undefined
  const [path = '', anchor] = target.split('#')
  const file = path === '' ? from : resolve(dirname(from), path)
  const place = `${named(from)}:${line}`
  if (!file.startsWith(ROOT) || !(await exists(file))) return `${place}: no file ${path}`
  if (anchor === undefined || anchors(await readFile(file, 'utf8')).has(anchor)) return undefined
  return `${place}: no heading ${target}`
}

async function pages(): Promise<string[]> {
  const found = await readdir(ROOT, { withFileTypes: true })
  const folders = ['docs', 'examples', 'packages', '.changeset']
  const below = await Promise.all(folders.map((folder) => pagesBelow(join(ROOT, folder))))
  const top = found.filter((entry) => entry.isFile() && entry.name.endsWith('.md'))
  return [...top.map(({ name }) => join(ROOT, name)), ...below.flat()]
}

async function pagesBelow(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true })
  const found = entries.map((entry) => {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) return entry.name === 'node_modules' ? [] : pagesBelow(path)
    return entry.name.endsWith('.md') ? [path] : []
  })
  return (await Promise.all(found)).flat()
}

function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  )
}

function named(path: string): string {
  return relative(ROOT, path)
}
