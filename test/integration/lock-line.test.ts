import { setTimeout as sleep } from 'node:timers/promises'
import { LockTimeoutError } from '@sluice/core'
import { describe, expect, test } from 'vitest'
import { eventually } from '../support/eventually.ts'
import type { LockProcess } from './lock-process.ts'
import {
  inLine,
  inLineAndListening,
  prefix,
  processes,
  processNo,
  startProcesses,
  waitMs,
} from './lock-processes.ts'

startProcesses()

describe('processes that wait for a lock in Redis', () => {
  test('L6: exactly one of them is woken by a release', async () => {
    const lease = await processNo(0).locker().acquire('k')
    const waiting = [1, 2, 3].map((i) => processNo(i))
    const taken = waiting.map((one) => one.locker().acquire('k', { waitMs }))
    await inLineAndListening(3)
    const before = waiting.map(({ sent }) => sent)
    await lease.release()
    const first = await Promise.race(taken.map(async (one, i) => ({ i, lease: await one })))
    const after = waiting.map(({ sent }, i) => sent - (before[i] ?? 0))
    expect(after[first.i]).toBe(1)
    expect(after.reduce((sum, sent) => sum + sent)).toBe(1)
    await first.lease.release()
    for (const one of taken) await (await one).release()
    expect(await processNo(0).locker().inspect('k')).toBeUndefined()
  })

  test('L7: a hand-over costs two commands between processes, and one within', async () => {
    // The server has all scripts then.
    const warm = [0, 0].map((i) =>
      processNo(i)
        .locker()
        .using('warm', { waitMs }, () => {}),
    )
    await Promise.all(warm)
    const lease = await processNo(0).locker().acquire('k')
    const order: number[] = []
    const works = [1, 1, 1, 2, 2, 2].map((i) =>
      processNo(i)
        .locker()
        .using('k', { waitMs }, () => {
          order.push(i)
        }),
    )
    await inLineAndListening(2)
    const before = processes.map(({ sent }) => sent)
    await lease.release()
    await Promise.all(works)
    expect(order).toHaveLength(6)
    expect(order.slice(0, 3)).toEqual(new Array(3).fill(order[0]))
    const commands = processes.map(({ sent }, i) => sent - (before[i] ?? 0))
    // The release; and of each process its claim, two passes and the last release.
    expect(commands).toEqual([1, 4, 4, 0])
  })

  test('L7: of two that are never done both have their share', async () => {
    const order: number[] = []
    const until = performance.now() + 1000
    const works = Array.from({ length: 16 }, async (_, caller) => {
      const { length } = processes
      const i = caller % 2
      const locker = processNo(i + length).locker()
      while (performance.now() < until)
        await locker.using('k', { waitMs }, async () => {
          order.push(i)
          await sleep(1)
        })
    })
    await Promise.all(works)
    const turns = order.join('').match(/0+|1+/g) ?? []
    expect(Math.max(...turns.slice(1, -1).map(({ length }) => length))).toBeLessThanOrEqual(17)
    expect(turns.length).toBeGreaterThan(8)
    expect(await processNo(0).locker().inspect('k')).toBeUndefined()
  })

  test('L6, L7: a burst of 64 is served, one at a time and each once, with rising fences', async () => {
    let inside = 0
    const fences: number[] = []
    const works = Array.from({ length: 64 }, (_, i) =>
      processNo(i)
        .locker()
        .using('k', { waitMs }, async ({ fence }) => {
          expect(++inside).toBe(1)
          fences.push(fence)
          await sleep(1)
          inside--
        }),
    )
    await Promise.all(works)
    expect(fences).toHaveLength(64)
    expect(fences).toEqual([...fences].sort((a, b) => a - b))
    expect(new Set(fences).size).toBe(64)
    const commands = processes.reduce((sum, { sent }) => sum + sent, 0)
    expect(commands).toBeLessThanOrEqual(3 * 64)
    // No lease, no line and no turn: of a lock that nobody wants only its last fence is left, for its time.
    const { redis } = processNo(0)
    await eventually(async () => (await redis.keys(`${prefix}:lock:*`)).length === 1)
    const [fence] = await redis.keys(`${prefix}:lock:*`)
    expect(await redis.pttl(fence as string)).toBeGreaterThan(24 * 3_600_000)
  })

  test('L6: a wake-up that got lost is made good within 5 s', async () => {
    const [holder, waiting] = [processNo(0), processNo(1)]
    const lease = await holder.locker().acquire('k')
    const taken = waiting.locker().acquire('k', { waitMs })
    await inLineAndListening(1)
    await cutSubscribersOf(waiting)
    const releasedAt = performance.now()
    await lease.release()
    await (await taken).release()
    expect(performance.now() - releasedAt).toBeLessThan(6000)
  })

  test('L6: one that died in line is passed over', async () => {
    const lease = await processNo(0).locker().acquire('k')
    const claim = { token: 'dead', leaseMs: 10_000, metadata: '' }
    await processNo(3).store.lock?.acquire(['k'], claim, { waiter: 'dead' })
    const taken = processNo(1).locker().acquire('k', { waitMs })
    await inLine(2)
    await lease.release()
    await (await taken).release()
    expect(await processNo(1).locker().tryAcquire('k')).toBeDefined()
  })

  test('L6: a holder that died makes room when its lease ends', async () => {
    // Connected, so that the grant comes well within the lease.
    await Promise.all(processes.map(({ redis }) => redis.ping()))
    await processNo(0).locker({ leaseMs: 500 }).acquire('k')
    const startedAt = performance.now()
    const lease = await processNo(1).locker().acquire('k', { waitMs })
    expect(performance.now() - startedAt).toBeLessThan(2500)
    await lease.release()
  })

  test('L6: who gives up leaves the line, and keeps nobody waiting', async () => {
    const lease = await processNo(0).locker().acquire('k')
    const impatient = processNo(1).locker().acquire('k', { waitMs: 100 })
    await expect(impatient).rejects.toBeInstanceOf(LockTimeoutError)
    await inLine(0)
    await lease.release()
    await (await processNo(2).locker().acquire('k')).release()
  })

  test('L6: who is aborted when its turn has come hands it on', async () => {
    const lease = await processNo(0).locker().acquire('k')
    const controller = new AbortController()
    const { signal } = controller
    const aborted = processNo(1).locker().acquire('k', { waitMs, signal })
    const outcome = aborted.catch((reason: unknown) => reason)
    await inLine(1)
    const taken = processNo(2).locker().acquire('k', { waitMs })
    await inLine(2)
    const released = lease.release()
    controller.abort('enough')
    expect(await outcome).toBe('enough')
    const startedAt = performance.now()
    await released
    await (await taken).release()
    expect(performance.now() - startedAt).toBeLessThan(2000)
  })
})

/** Breaks the connections of this store alone on which messages come. */
async function cutSubscribersOf({ redis }: LockProcess): Promise<void> {
  const clients = String(await redis.client('LIST', 'TYPE', 'PUBSUB')).split('\n')
  const ours = clients.filter((client) => client.includes(` name=${redis.options.connectionName} `))
  expect(ours).toHaveLength(1)
  for (const client of ours) await redis.client('KILL', 'ID', /id=(\d+)/.exec(client)?.[1] ?? '')
}
