import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { BoundedSubjects, type Subject } from '../../src/rate-limit/bounded-subjects.ts'

describe('R12: bounded subjects', () => {
  it('never hold more than maxKeys, over all spaces together', () => {
    const subjects = new BoundedSubjects(100)
    const spaces = [subjects.space('a'), subjects.space('b')]
    for (let index = 0; index < 1000; index++) {
      for (const space of spaces) subjects.set(space, `key ${index}`, idle, 0)
      expect(subjects.size).toBeLessThanOrEqual(100)
    }
    expect(spaces.reduce((sum, space) => sum + space.size, 0)).toBe(100)
  })

  it('give a space back for its name', () => {
    const subjects = new BoundedSubjects(10)
    subjects.set(subjects.space('a'), 'key', idle, 0)
    expect(subjects.get(subjects.space('a'), 'key', 0)).toMatchObject(idle)
    expect(subjects.get(subjects.space('b'), 'key', 0)).toBeUndefined()
  })

  it('forget a subject at the moment it expires', () => {
    const subjects = new BoundedSubjects(10)
    const space = subjects.space('a')
    subjects.set(space, 'key', { ...idle, expiresAt: 50 }, 0)
    expect(subjects.get(space, 'key', 49)).toBeDefined()
    expect(subjects.get(space, 'key', 50)).toBeUndefined()
  })

  it('reclaim two expired subjects for each one that comes', () => {
    const subjects = new BoundedSubjects(1000)
    const space = subjects.space('a')
    for (let index = 0; index < 100; index++)
      subjects.set(space, `old ${index}`, { ...idle, expiresAt: 50 }, 0)
    for (let index = 0; index < 50; index++) subjects.set(space, `new ${index}`, idle, 60)
    expect(subjects.size).toBe(50)
  })

  it('reclaim all that are expired in a sweep, over their limits or not', () => {
    const subjects = new BoundedSubjects(1000)
    const space = subjects.space('a')
    for (let index = 0; index < 100; index++) {
      const expiresAt = index < 70 ? 50 : 500
      subjects.set(
        space,
        `key ${index}`,
        { state: 0, expiresAt, refusedUntil: index % 2 ? expiresAt : 0 },
        0,
      )
    }
    subjects.sweep(60)
    expect(subjects.size).toBe(30)
    expect(space.size).toBe(30)
  })

  it('let the one go that was idle longest, not the one in use', () => {
    const subjects = new BoundedSubjects(3)
    const space = subjects.space('a')
    for (const key of ['first', 'second', 'third']) subjects.set(space, key, idle, 0)
    subjects.set(space, 'first', idle, 1)
    subjects.set(space, 'fourth', idle, 2)
    expect([...space.keys()].sort()).toEqual(['first', 'fourth', 'third'])
  })

  it('let one go whose refusal is over before one that is idle', () => {
    const subjects = new BoundedSubjects(2)
    const space = subjects.space('a')
    subjects.set(space, 'idle', idle, 0)
    subjects.set(space, 'ended', { ...idle, refusedUntil: 50 }, 0)
    subjects.set(space, 'fresh', idle, 50)
    expect([...space.keys()]).toEqual(['idle', 'fresh'])
  })

  it('let none go that is over its limit while another remains, and else the one whose refusal ends soonest', () => {
    const key = fc.integer({ min: 0, max: 30 })
    const untilMs = fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 60 }))
    const step = fc.record({ key, afterMs: fc.nat(3), refusedMs: untilMs, lastsMs: fc.nat(60) })
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 8 }),
        fc.array(step, { maxLength: 150 }),
        (maxKeys, steps) => {
          const subjects = new BoundedSubjects(maxKeys)
          const space = subjects.space('a')
          let now = 0
          for (const { key, afterMs, refusedMs, lastsMs } of steps) {
            now += afterMs
            const before = new Map(
              [...space].map(([name, { refusedUntil }]) => [name, refusedUntil]),
            )
            const refusedUntil = refusedMs === 0 ? 0 : now + refusedMs
            const expiresAt = now + Math.max(refusedMs, lastsMs)
            subjects.set(space, String(key), { state: key, expiresAt, refusedUntil }, now)
            const over = [...before].filter(([, until]) => until > now)
            const gone = over.filter(([name]) => !space.has(name))
            expect(space.size).toBe(subjects.size)
            expect(space.size).toBeLessThanOrEqual(maxKeys)
            expect(space.get(String(key))?.state).toBe(key)
            if (gone.length > 0) {
              expect(gone).toHaveLength(1)
              expect(over).toHaveLength(before.size)
              expect(gone[0]?.[1]).toBe(Math.min(...over.map(([, until]) => until)))
            }
          }
        },
      ),
      { numRuns: 500 },
    )
  })
})

const idle: Subject = { state: 'idle', expiresAt: 1_000_000, refusedUntil: 0 }
