import { createHash, randomBytes } from 'node:crypto'

/** The form in which a fingerprint is stored: SHA-256 in base64url, 43 characters. */
export function digestFingerprint(fingerprint: string | Uint8Array): string {
  return createHash('sha256').update(fingerprint).digest('base64url')
}

/** The form in which a caller is remembered: the first 132 bits of SHA-256, 22 characters; dashes for nobody. */
export function digestCaller(caller: string | undefined): string {
  if (caller === undefined) return NOBODY
  return createHash('sha256').update(caller).digest('base64url').slice(0, NOBODY.length)
}

/** 128 random bits, 22 characters: who knows it owns the claim. */
export function newOwner(): string {
  return randomBytes(16).toString('base64url')
}

/** Not 132 zero bits, so no digest that anyone will find. */
const NOBODY = '-'.repeat(22)
