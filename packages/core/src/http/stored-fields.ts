import type { Head } from './response-head.ts'

/** The fields of a response that mean the same in its replay (RFC 9110, section 7.6.1). */
export function endToEnd({ fields }: Head, keepCookies: boolean): [string, string][] {
  const hop = new Set(notStored)
  if (!keepCookies) hop.add('set-cookie')
  for (const [name, value] of fields)
    if (name.toLowerCase() === 'connection')
      for (const option of value.split(',')) hop.add(option.trim().toLowerCase())
  return fields
    .filter(([name]) => !hop.has(name.toLowerCase()))
    .map(([name, value]) => [name, value])
}

const notStored: readonly string[] = [
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
]
