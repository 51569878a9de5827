import { createHash } from 'node:crypto'

/** Begins every digest; what escapes keys makes no other use of it. */
export const DIGEST_MARK = '%h'

/** 45 characters in place of any text, by its UTF-16 units, so that lone surrogates stay distinct too. */
export function digest(text: string): string {
  return `${DIGEST_MARK}${createHash('sha256').update(Buffer.from(text, 'utf16le')).digest('base64url')}`
}
