import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { waitTurn } from '../../src/http/client-presence.ts'

beforeEach(() => {
  vi.useFakeTimers()
})

afterEach(() => {
  vi.useRealTimers()
})

describe('R26: a request that waits for its turn', () => {
  it('goes on when its time has come, and not before', async () => {
    const turn = vi.fn()
    const waiting = waitTurn(...exchange(), 250).then(turn)
    await vi.advanceTimersByTimeAsync(249)
    expect(turn).not.toHaveBeenCalled()
    await vi.advanceTimersByTimeAsync(1)
    await waiting
    expect(turn).toHaveBeenCalledWith(true)
  })

  it('does not go on when its client has left, and frees its timer', async () => {
    const [request, left] = exchange()
    const waiting = waitTurn(request, left, 250)
    expect(vi.getTimerCount()).toBe(1)
    left.emit('close')
    expect(vi.getTimerCount()).toBe(0)
    expect(await waiting).toBe(false)
  })

  it('does not even begin when the client left while the store was asked', async () => {
    const [request, left] = exchange()
    left.destroy()
    expect(await waitTurn(request, left, 250)).toBe(false)
    expect(vi.getTimerCount()).toBe(0)
  })

  it('leaves nothing behind on its response', async () => {
    const [request, kept] = exchange()
    const before = kept.listenerCount('close')
    const waiting = waitTurn(request, kept, 250)
    await vi.advanceTimersByTimeAsync(250)
    await waiting
    expect(kept.listenerCount('close')).toBe(before)
  })

  it('waits longer than one timer can', async () => {
    const turn = vi.fn()
    const days = 30 * 86_400_000
    void waitTurn(...exchange(), days).then(turn)
    await vi.advanceTimersByTimeAsync(days - 1)
    expect(turn).not.toHaveBeenCalled()
    await vi.advanceTimersByTimeAsync(1)
    expect(turn).toHaveBeenCalledWith(true)
  })
})

function exchange(): [IncomingMessage, ServerResponse] {
  const request = new IncomingMessage(new Socket())
  return [request, new ServerResponse(request)]
}
