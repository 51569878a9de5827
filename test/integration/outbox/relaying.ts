import { once } from 'node:events'
import { expect, test } from 'vitest'
import { eventually } from '../../support/eventually.ts'
import type { OutboxUnderTest } from './outbox-under-test.ts'

/** Leases, closing, cleaning up. */
export function relayTests(at: OutboxUnderTest): void {
  test('P6: a delivery that takes longer than its lease keeps it', async () => {
    const box = at.make({
      publish: async (message) => {
        at.published.push(message)
        // By the database's clock, which decides about the lease.
        await eventually(async () => {
          const { rows } = await at.pool.query(
            `SELECT now() - added_at > interval '1 s' AS over FROM "${at.schema}".outbox`,
          )
          return rows[0]?.['over'] === true
        })
      },
    })
    await at.add(box, 'a', 'slow', 'after')
    at.start(box, { leaseMs: 300 })
    at.start(box, { leaseMs: 300 })
    await eventually(() => at.published.length === 2)
    expect(at.payloads('a')).toEqual(['slow', 'after'])
  })

  test('P6: a relay that lost a message says nothing of it any more, and takes none behind it', async () => {
    const over: string[] = []
    const box = at.make({
      publish: async ({ payload }) => {
        await at.pool.query(
          `UPDATE "${at.schema}".outbox SET claimed_by = 'another', due_at = now() + interval '1 h'`,
        )
        over.push(String(payload))
      },
    })
    await at.add(box, 'a', 'lost', 'behind')
    const relay = at.start(box)
    await eventually(() => over.length === 1)
    await relay.close()
    expect(over).toEqual(['lost'])
    expect(await at.counts()).toEqual({ delivered: 0, pending: 2 })
  })

  test('P6: closing waits for what is being at.published, and no longer than its grace', async () => {
    let finish = (): void => {}
    const signals: AbortSignal[] = []
    const box = at.make({
      publish: (_, signal) => {
        signals.push(signal)
        return new Promise<void>((resolve) => {
          finish = resolve
        })
      },
    })
    await at.add(box, 'a', 1, 2)
    const relay = at.start(box)
    await eventually(() => signals.length === 1)
    const closed = relay.close()
    finish()
    await closed
    expect(await at.counts()).toEqual({ delivered: 1, pending: 1 })
    const hasty = at.start(box)
    await eventually(() => signals.length === 2)
    const aborted = once(signals[1] as AbortSignal, 'abort')
    await hasty.close({ graceMs: 1 })
    await aborted
    expect(await at.counts()).toEqual({ delivered: 1, pending: 1 })
  })

  test('P6: cleanup removes what was delivered long ago, and nothing else', async () => {
    const box = at.make({ publish: at.keep })
    await at.add(box, 'a', 1, 2, 3)
    at.start(box)
    await eventually(async () => (await at.counts()).delivered === 3)
    await at.closeRelays()
    await at.add(box, 'a', 4)
    expect(await box.cleanup({ olderThanMs: 60_000 })).toBe(0)
    expect(await box.cleanup({ olderThanMs: 0, batchSize: 2 })).toBe(3)
    expect(await at.counts()).toEqual({ delivered: 0, pending: 1 })
  })
}
