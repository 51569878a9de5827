import { randomFillSync } from 'node:crypto'

/** 128 random bits, 22 characters: who knows it is the owner. Drawn by the pool, since a draw costs more than its bits. */
export function newToken(): string {
  if (drawn === pool.length) {
    randomFillSync(pool)
    drawn = 0
  }
  drawn += TOKEN_BYTES
  return pool.toString('base64url', drawn - TOKEN_BYTES, drawn)
}

const TOKEN_BYTES = 16
const pool = Buffer.alloc(256 * TOKEN_BYTES)
let drawn = pool.length
