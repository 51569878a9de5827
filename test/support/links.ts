/** A link or picture of a Markdown page. */
export interface Link {
  /** The line it stands in, from 1. */
  readonly line: number
  readonly target: string
}

/** All links and pictures of a page, without those in code. */
export function links(page: string): Link[] {
  return withoutCode(page)
    .split('\n')
    .flatMap((text, index) =>
      [...text.matchAll(/\]\(([^()\s]+)\)/g)].map(([, target = '']) => ({
        line: index + 1,
        target,
      })),
    )
}

/** What follows the `#` of a link to each heading of a page, as GitHub writes it. */
export function anchors(page: string): Set<string> {
  const found = new Set<string>()
  for (const [, heading = ''] of withoutFences(page).matchAll(/^#{1,6} +(.+?) *$/gm)) {
    const slug = slugOf(heading)
    let unique = slug
    for (let n = 1; found.has(unique); n++) unique = `${slug}-${n}`
    found.add(unique)
  }
  return found
}

function slugOf(heading: string): string {
  return heading
    .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .replaceAll(' ', '-')
}

function withoutCode(page: string): string {
  return withoutFences(page).replace(/`[^`\n]*`/g, '')
}

/** Fenced blocks become empty lines, so that line numbers stay. */
function withoutFences(page: string): string {
  return page.replace(/^( *)(`{3,}|~{3,}).*\n[\s\S]*?^ *\2 *$/gm, (block) =>
    block.replace(/[^\n]/g, ''),
  )
}
