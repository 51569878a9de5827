import { fieldOf, type Head } from './response-head.ts'

/** The fields of a response that mean the same in its replay (RFC 9110, section 7.6.1). */
export function endToEnd(head: Head, keepCookies: boolean): [string, string][] {
  const listed = connectionOptions(head)
  const kept: [string, string][] = []
  for (const [name, value] of head.fields) {
    const lower = name.toLowerCase()
    const stays = !notStored.has(lower) && !listed.includes(lower)
    if (stays && (keepCookies || lower !== 'set-cookie')) kept.push([name, value])
  }
  return kept
}

function connectionOptions(head: Head): readonly string[] {
  if (fieldOf(head, 'connection') === undefined) return []
  return head.fields
    .filter(([name]) => name.toLowerCase() === 'connection')
    .flatMap(([, value]) => value.split(',').map((option) => option.trim().toLowerCase()))
}

const notStored: ReadonlySet<string> = new Set([
  'connection',
  'content-length',
  'date',
  'idempotency-replayed',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])
