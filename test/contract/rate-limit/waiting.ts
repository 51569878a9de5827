import { type Decision, leakyBucket } from '@sluice/core'
import { describe, expect, test } from 'vitest'
import { casesOf, LONG_MS } from './cases.ts'
import { decide, fromStore, Rig, type StoreUnderTest, spend, type Timed } from './rig.ts'

/** Long enough to tell early from late on a clock that goes on by itself. */
const WINDOW_MS = 120

export function waitingContract(under: StoreUnderTest): void {
  const chosen = casesOf(under.algorithms)
  describe.each(chosen)('$algorithm', ({ policy }) => {
    test.each([1, 3])(
      'R4: a client that waits retryAfterMs passes, 1 ms earlier it does not: cost %d',
      async (cost) => {
        const rig = await Rig.open(under)
        const limiter = rig.limiter(policy(4, WINDOW_MS))
        const ask = () => limiter.consume('a', { cost })
        const refused = await untilRefused(rig, ask)
        await rig.becomesTrueAfter(refused.value.retryAfterMs, refused, ask, isAllowed)
      },
    )

    test('R4: retryAfterMs is true in the middle of a trace too', async () => {
      const rig = await Rig.open(under)
      const limiter = rig.limiter(policy(10, WINDOW_MS))
      // Spread over two windows, so that a sliding one weighs both.
      for (const part of [0.3, 0.4, 0.5]) {
        await decide(limiter, 'a', 3)
        await rig.advance(WINDOW_MS * part)
      }
      await decide(limiter, 'a', 2)
      const ask = () => limiter.consume('a', { cost: 7 })
      const refused = await untilRefused(rig, ask)
      await rig.becomesTrueAfter(refused.value.retryAfterMs, refused, ask, isAllowed)
    })

    test('R4: the full quota is back after resetMs, and not 1 ms earlier', async () => {
      const rig = await Rig.open(under)
      const limiter = rig.limiter(policy(4, WINDOW_MS))
      await spend(limiter, 'a', 1)
      const spent = await rig.timed(() => limiter.consume('a'))
      const { resetMs } = fromStore(spent.value)
      expect(resetMs).toBeGreaterThan(0)
      const ask = () => limiter.peek('a')
      await rig.becomesTrueAfter(resetMs, spent, ask, (decision) => decision.resetMs === 0)
      expect(await limiter.peek('a')).toMatchObject({ remaining: 4, resetMs: 0 })
    })

    test('R4: remaining grows after nextMs, and not 1 ms earlier', async () => {
      const rig = await Rig.open(under)
      const limiter = rig.limiter(policy(4, WINDOW_MS))
      const before = await rig.timed(() => limiter.consume('a', { cost: 2 }))
      const [state] = fromStore(before.value).policies
      const ask = () => limiter.peek('a')
      const left = before.value.remaining
      await rig.becomesTrueAfter(
        state?.nextMs ?? 0,
        before,
        ask,
        ({ remaining }) => remaining > left,
      )
    })
  })

  if (chosen.some(({ algorithm }) => algorithm === 'leaky-bucket')) turnsContract(under)
}

function turnsContract(under: StoreUnderTest): void {
  test('R4: a leaky bucket gives a turn to each: one at once, `capacity` in line, the next refused', async () => {
    const rig = await Rig.open(under)
    const limiter = rig.limiter(leakyBucket({ capacity: 3, drain: 1, drainMs: LONG_MS }))
    const calls = await Promise.all(
      [1, 2, 3, 4, 5].map(() => rig.timed(() => limiter.consume('a'))),
    )
    const decisions = calls.map(({ value }) => fromStore(value))
    expect(decisions.map(({ allowed }) => allowed)).toEqual([true, true, true, true, false])
    const turns = decisions.map(({ delayMs }) => Math.round(delayMs / LONG_MS))
    expect(turns).toEqual([0, 1, 2, 3, 0])
    const tookMs = Math.max(...calls.map(({ from, until }) => until - from))
    for (const [turn, { delayMs }] of decisions.slice(0, 4).entries()) {
      expect(delayMs).toBeLessThanOrEqual(turn * LONG_MS)
      expect(delayMs).toBeGreaterThanOrEqual(turn * LONG_MS - tookMs - rig.slackMs)
    }
  })

  test('R4: a turn in a leaky bucket comes as it drains, and a bucket that drained is idle', async () => {
    const rig = await Rig.open(under)
    const limiter = rig.limiter(leakyBucket({ capacity: 3, drain: 1, drainMs: WINDOW_MS }))
    const first = await rig.timed(() => limiter.consume('a'))
    expect(fromStore(first.value).delayMs).toBe(0)
    const ask = () => limiter.peek('a')
    await rig.becomesTrueAfter(WINDOW_MS, first, ask, ({ delayMs }) => delayMs === 0)
    expect((await limiter.consume('a')).delayMs).toBe(0)
  })
}

/** Asks until one call is refused, however slowly calls come and quota comes back meanwhile. */
async function untilRefused(rig: Rig, ask: () => Promise<Decision>): Promise<Timed<Decision>> {
  for (;;) {
    const call = await rig.timed(ask)
    if (!isAllowed(fromStore(call.value))) return call
  }
}

function isAllowed({ allowed, retryAfterMs }: Decision): boolean {
  if (allowed) expect(retryAfterMs).toBe(0)
  else expect(retryAfterMs).toBeGreaterThanOrEqual(1)
  return allowed
}
