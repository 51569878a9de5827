import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { Alarm } from '../../src/delay/alarm.ts'

let rings: number[]
let alarm: Alarm

beforeEach(() => {
  vi.useFakeTimers()
  rings = []
  alarm = new Alarm(() => rings.push(performance.now()))
})
afterEach(() => {
  vi.useRealTimers()
})

const inMs = (ms: number): number => performance.now() + ms

test('D4: rings once, at its moment', async () => {
  const at = inMs(1000)
  alarm.set(at)
  await vi.advanceTimersByTimeAsync(999)
  expect(rings).toEqual([])
  await vi.advanceTimersByTimeAsync(10_000)
  expect(rings).toEqual([at])
})

test('D4: rings at the moment that was set last, earlier or later', async () => {
  alarm.set(inMs(5000))
  const at = inMs(1000)
  alarm.set(at)
  await vi.advanceTimersByTimeAsync(6000)
  expect(rings).toEqual([at])
  alarm.set(inMs(1000))
  const later = inMs(5000)
  alarm.set(later)
  await vi.advanceTimersByTimeAsync(6000)
  expect(rings).toEqual([at, later])
})

test('D4: can be set to the same moment again when it has rung, and be cleared', async () => {
  const at = inMs(100)
  alarm.set(at)
  await vi.advanceTimersByTimeAsync(200)
  alarm.set(at)
  await vi.advanceTimersByTimeAsync(10)
  expect(rings).toHaveLength(2)
  alarm.set(inMs(100))
  alarm.clear()
  await vi.advanceTimersByTimeAsync(1000)
  expect(rings).toHaveLength(2)
})

test('D7: does not ring early, nor hurry, when its moment is ten years away', async () => {
  const tenYearsMs = 3_653 * 86_400_000
  const at = inMs(tenYearsMs)
  alarm.set(at)
  await vi.advanceTimersByTimeAsync(tenYearsMs - 1)
  expect(rings).toEqual([])
  await vi.advanceTimersByTimeAsync(10)
  expect(rings).toHaveLength(1)
  expect(rings[0]).toBeGreaterThanOrEqual(at)
})
