/** The hash slot of a key, as every server of a Cluster computes it: CRC16 (XMODEM) of its hash tag, or of all of it. */
export function slotOf(key: string): number {
  const open = key.indexOf('{')
  const close = open < 0 ? -1 : key.indexOf('}', open + 1)
  return crc16(Buffer.from(close > open + 1 ? key.slice(open + 1, close) : key)) % SLOTS
}

/** A short hash tag for each slot, so that something may be kept beside the keys of a slot. */
export function slotTag(slot: number): string {
  tags ??= findTags()
  return tags[slot] as string
}

export const SLOTS = 16_384

let tags: readonly string[] | undefined

/** Some 170,000 numbers are tried, once in a process, and only if it talks to a Cluster: about 20 ms. */
function findTags(): readonly string[] {
  const found: string[] = []
  let missing = SLOTS
  for (let number = 0; missing > 0; number++) {
    const tag = number.toString(36)
    const slot = crc16(Buffer.from(tag)) % SLOTS
    if (found[slot] !== undefined) continue
    found[slot] = tag
    missing--
  }
  return found
}

function crc16(bytes: Uint8Array): number {
  let crc = 0
  for (const byte of bytes) crc = ((crc << 8) & 0xffff) ^ (TABLE[(crc >> 8) ^ byte] as number)
  return crc
}

const TABLE: readonly number[] = Array.from({ length: 256 }, (_, index) => {
  let crc = index << 8
  for (let bit = 0; bit < 8; bit++) crc = ((crc << 1) ^ (crc & 0x8000 ? 0x1021 : 0)) & 0xffff
  return crc
})
