import { DIGEST_MARK, digest } from '../digest.ts'

/**
 * The key by which this process remembers a subject. A long one is its digest, so that callers do not decide how much
 * memory a subject takes; what looks like a digest is digested too, so that none can be forged.
 */
export function keptKey(subject: string): string {
  return subject.length > LONGEST || subject.startsWith(DIGEST_MARK) ? digest(subject) : subject
}

/**
 * A copy that stands alone, for what stays: an engine keeps a text that was cut out of a longer one (a cookie, a
 * header) by keeping all of that one.
 */
export function detached(key: string): string {
  return String(JSON.parse(JSON.stringify(key)))
}

const LONGEST = 100
