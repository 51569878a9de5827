import { createHash } from 'node:crypto'

/** 32 bytes for a name of any length and any characters, half surrogates and zeros included. */
export function digestName(name: string): Buffer {
  return createHash('sha256').update(name, 'utf16le').digest()
}
