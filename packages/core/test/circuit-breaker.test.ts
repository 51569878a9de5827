import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { CircuitBreaker } from '../src/resilience/circuit-breaker.ts'

beforeEach(() => {
  vi.useFakeTimers()
})

afterEach(() => {
  vi.useRealTimers()
})

describe('R30: an open circuit', () => {
  it('goes on asking when its question throws at once, and closes with the first answer', async () => {
    let broken = true
    let asked = 0
    const circuit = new CircuitBreaker(() => {
      asked++
      if (broken) throw new Error('down')
      return Promise.resolve()
    })
    for (let call = 0; call < 5; call++) circuit.failed()
    expect(circuit.isOpen).toBe(true)
    await vi.advanceTimersByTimeAsync(2000)
    expect(asked).toBeGreaterThan(4)
    expect(circuit.isOpen).toBe(true)
    broken = false
    await vi.advanceTimersByTimeAsync(1000)
    expect(circuit.isOpen).toBe(false)
    expect(vi.getTimerCount()).toBe(0)
  })
})
