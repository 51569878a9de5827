import { describe, expect, test } from 'vitest'
import { Child } from '../../support/child.ts'

describe('a child process', () => {
  test('answers, with a wall clock of its own', async () => {
    const hourMs = 3_600_000
    await using child = await Child.start(new URL('children/clock.ts', import.meta.url), {
      args: ['x'],
      clockOffsetMs: -hourMs,
    })
    const clocks = await child.ask<Record<'date' | 'now' | 'monotonic' | 'fixed', number>>('clocks')
    for (const key of ['date', 'now'] as const)
      expect(clocks.monotonic - clocks[key]).toBeCloseTo(hourMs, -3)
    expect(clocks).toMatchObject({ fixed: 5, isDate: true, args: ['x'] })
  })

  test('passes on what it throws, and its own end', async () => {
    await using child = await Child.start(new URL('children/clock.ts', import.meta.url))
    await expect(child.ask('throw')).rejects.toThrow('TypeError: as asked')
    child.pause()
    const asked = child.ask('clocks')
    await child.kill()
    await expect(asked).rejects.toThrow('SIGKILL')
  })
})
