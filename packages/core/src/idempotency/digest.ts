import { hash } from 'node:crypto'

/** The form in which a fingerprint is stored: SHA-256 in base64url, 43 characters. */
export function digestFingerprint(fingerprint: string | Uint8Array): string {
  return hash('sha256', fingerprint, 'base64url')
}

/** The form in which a caller is remembered: the first 132 bits of SHA-256, 22 characters; dashes for nobody. */
export function digestCaller(caller: string | undefined): string {
  if (caller === undefined) return NOBODY
  return hash('sha256', caller, 'base64url').slice(0, NOBODY.length)
}

/** Not 132 zero bits, so no digest that anyone will find. */
const NOBODY = '-'.repeat(22)
