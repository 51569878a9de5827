import { hash, randomFillSync } from 'node:crypto'

/** The form in which a fingerprint is stored: SHA-256 in base64url, 43 characters. */
export function digestFingerprint(fingerprint: string | Uint8Array): string {
  return hash('sha256', fingerprint, 'base64url')
}

/** The form in which a caller is remembered: the first 132 bits of SHA-256, 22 characters; dashes for nobody. */
export function digestCaller(caller: string | undefined): string {
  if (caller === undefined) return NOBODY
  return hash('sha256', caller, 'base64url').slice(0, NOBODY.length)
}

/** 128 random bits, 22 characters: who knows it owns the claim. Drawn by the pool, since a draw costs more than its bits. */
export function newOwner(): string {
  if (drawn === pool.length) {
    randomFillSync(pool)
    drawn = 0
  }
  drawn += OWNER_BYTES
  return pool.toString('base64url', drawn - OWNER_BYTES, drawn)
}

const OWNER_BYTES = 16
const pool = Buffer.alloc(256 * OWNER_BYTES)
let drawn = pool.length

/** Not 132 zero bits, so no digest that anyone will find. */
const NOBODY = '-'.repeat(22)
