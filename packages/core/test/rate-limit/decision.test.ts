import { describe, expect, it } from 'vitest'
import { fixedWindow } from '../../src/index.ts'
import { decide } from '../../src/rate-limit/decision.ts'
import type { Standing } from '../../src/rate-limit/store.ts'

const policies = ['a', 'b', 'c'].map((name, index) =>
  fixedWindow({ name, limit: 10 * (index + 1), windowMs: 1000 * (index + 1) }),
)

describe('a decision', () => {
  it('R2: is a refusal when any policy refuses, and tells of the longest wait', () => {
    const decision = decide(policies, [refused(50), admitted(3), refused(70)], 'store')
    expect(decision).toMatchObject({
      allowed: false,
      policy: 'c',
      limit: 30,
      remaining: 0,
      retryAfterMs: 70,
      resetMs: 170,
      delayMs: 0,
      source: 'store',
    })
    expect(decide(policies, [refused(Infinity), admitted(3), refused(70)], 'store')).toMatchObject({
      policy: 'a',
      retryAfterMs: Infinity,
    })
  })

  it('is told of the policy nearest to its limit when all admit', () => {
    const decision = decide(policies, [admitted(5), admitted(2), admitted(9)], 'store')
    expect(decision).toMatchObject({ allowed: true, policy: 'b', remaining: 2, retryAfterMs: 0 })
  })

  it('waits for the last of several turns, and for none when refused', () => {
    const turns = [admitted(5, 30), admitted(2, 80), admitted(9, 0)]
    expect(decide(policies, turns, 'store').delayMs).toBe(80)
    expect(decide(policies, [refused(50), ...turns.slice(1)], 'store').delayMs).toBe(0)
  })

  it('describes every policy in order', () => {
    const { policies: states } = decide(policies, [admitted(5), refused(7), admitted(9)], 'cache')
    expect(states).toEqual([
      {
        name: 'a',
        allowed: true,
        limit: 10,
        windowMs: 1000,
        remaining: 5,
        retryAfterMs: 0,
        resetMs: 100,
        nextMs: 1,
      },
      {
        name: 'b',
        allowed: false,
        limit: 20,
        windowMs: 2000,
        remaining: 0,
        retryAfterMs: 7,
        resetMs: 107,
        nextMs: 7,
      },
      {
        name: 'c',
        allowed: true,
        limit: 30,
        windowMs: 3000,
        remaining: 9,
        retryAfterMs: 0,
        resetMs: 100,
        nextMs: 1,
      },
    ])
  })

  it('is an error when the store leaves a policy out', () => {
    expect(() => decide(policies, [admitted(5)], 'store')).toThrow('no standing for policy')
  })
})

function admitted(remaining: number, delayMs = 0): Standing {
  return { allowed: true, remaining, retryAfterMs: 0, resetMs: 100, nextMs: 1, delayMs }
}

function refused(retryAfterMs: number): Standing {
  const resetMs = retryAfterMs + 100
  return { allowed: false, remaining: 0, retryAfterMs, resetMs, nextMs: retryAfterMs, delayMs: 0 }
}
