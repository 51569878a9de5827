import { digest } from '../digest.ts'

/**
 * One caller-supplied part of a key, as plain ASCII without `{ } : * ? [ ] \ %` or white space in it, so that no
 * input can forge a hash tag, another part, or a glob; different inputs give different parts. What is long becomes a hash.
 */
export function keyPart(input: string): string {
  if (PLAIN.test(input)) return input
  const escaped = input.length <= LONGEST ? input.replace(NOT_PLAIN, escapeUnit) : ''
  return escaped !== '' && escaped.length <= 3 * LONGEST ? escaped : digest(input)
}

const LONGEST = 100
const PLAIN = /^[A-Za-z0-9._@/+=~,;!&-]{1,100}$/
const NOT_PLAIN = /[^A-Za-z0-9._@/+=~,;!&-]/g

/** By UTF-16 unit, as a digest reads it: `%` and two digits, or `%u` and four, and so never what begins a digest. */
function escapeUnit(unit: string): string {
  const code = unit.charCodeAt(0)
  return code < 256
    ? `%${code.toString(16).padStart(2, '0')}`
    : `%u${code.toString(16).padStart(4, '0')}`
}
