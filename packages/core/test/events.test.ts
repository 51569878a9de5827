import { channel } from 'node:diagnostics_channel'
import { describe, expect, it, vi } from 'vitest'
import { emit } from '../src/events.ts'
import { hashKey, type StoreEvent, subscribe } from '../src/index.ts'

const opened: StoreEvent = { type: 'circuit-opened', failures: 5 }

describe('an event', () => {
  it('reaches every listener of its channel, until that one stops', () => {
    const [first, second, other] = [vi.fn(), vi.fn(), vi.fn()]
    const stops = [
      subscribe('sluice:store', first),
      subscribe('sluice:store', second),
      subscribe('sluice:rate-limit', other),
    ]
    emit('sluice:store', () => opened)
    stops[0]?.()
    emit('sluice:store', () => opened)
    for (const stop of stops) stop()
    emit('sluice:store', () => opened)
    expect(first.mock.calls).toEqual([[opened]])
    expect(second.mock.calls).toEqual([[opened], [opened]])
    expect(other).not.toHaveBeenCalled()
  })

  it('travels on a channel of node:diagnostics_channel', () => {
    const listener = vi.fn()
    channel('sluice:store').subscribe(listener)
    emit('sluice:store', () => opened)
    channel('sluice:store').unsubscribe(listener)
    expect(listener).toHaveBeenCalledWith(opened, 'sluice:store')
  })

  it('of a channel that there is not is no event: the channels are named', () => {
    const subscribeTo: (name: never, listener: () => void) => unknown = subscribe
    expect(() => subscribeTo('sluice:ratelimit' as never, () => {})).toThrow(
      'subscribe: `channel` must be sluice:rate-limit or sluice:idempotency or sluice:lock or sluice:delay or sluice:store or sluice:outbox, but got "sluice:ratelimit"',
    )
  })

  it('costs nothing while nobody listens', () => {
    const payload = vi.fn(() => opened)
    emit('sluice:store', payload)
    expect(payload).not.toHaveBeenCalled()
  })

  it('names a key by a hash: the same for the same key, and not the key', () => {
    expect(hashKey('203.0.113.7')).toMatch(/^[0-9a-f]{16}$/)
    expect(hashKey('203.0.113.7')).toBe(hashKey('203.0.113.7'))
    expect(hashKey('203.0.113.7')).not.toBe(hashKey('203.0.113.8'))
  })
})
