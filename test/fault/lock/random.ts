/** Numbers from 0 to below 1 that a seed decides (mulberry32). */
export function seeded(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** A new seed, unless `SEED` asks for the run of an earlier failure. */
export function seedOfThisRun(): number {
  const wanted = process.env['SEED']
  return wanted === undefined ? Math.floor(Math.random() * 2 ** 32) : Number(wanted)
}
