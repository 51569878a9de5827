import { describe, expect, test } from 'vitest'
import { memory, pass, startFresh } from './fresh.ts'
import { hold, process, store } from './line-process.ts'

startFresh()

describe('several processes', () => {
  test('L6: one waiter is woken by a release, and no other', async () => {
    const holder = process()
    const waiting = [process(), process(), process()]
    const lease = await holder.locker.acquire('k')
    const log: string[] = []
    const all = waiting.map(({ locker }, name) => hold(locker, String(name), log, 1000))
    await pass(100)
    const before = waiting.map(({ store }) => store.count())
    await lease.release()
    await pass(1)
    expect(log).toEqual(['0'])
    expect(waiting.map(({ store }, i) => store.count() - (before[i] ?? 0))).toEqual([1, 0, 0])
    await pass(5000)
    await Promise.all(all)
    expect(log).toEqual(['0', '1', '2'])
  })

  test('L6: a call that got lost is made good within 5 s', async () => {
    const holder = process()
    const waiting = process()
    const lease = await store(holder).acquire('k')
    waiting.store.deaf = true
    const log: string[] = []
    const wait = hold(waiting.locker, 'deaf', log)
    await pass(100)
    await lease.release()
    await pass(5000)
    await wait
    expect(log).toEqual(['deaf'])
  })

  test('L6: a call that comes before an older answer is not forgotten', async () => {
    const holder = process()
    const waiting = process()
    const lease = await store(holder, 60_000).acquire('k')
    const log: string[] = []
    const wait = hold(waiting.locker, 'first', log)
    await pass(10)
    let answer = (): void => {}
    const answered = new Promise<void>((resolve) => {
      answer = resolve
    })
    waiting.store.next('acquire', { answered })
    const asked = waiting.store.count('acquire')
    for (let ms = 0; waiting.store.count('acquire') === asked && ms < 5000; ms += 10) await pass(10)
    expect(waiting.store.count('acquire')).toBe(asked + 1)
    // It does not know yet that the key was held when it asked.
    await lease.release()
    answer()
    await pass(1)
    expect(log).toEqual(['first'])
    await pass(100)
    await wait
  })

  test('L6: a process that died in line is passed over', async () => {
    const holder = process()
    const dead = process()
    const waiting = process()
    const lease = await store(holder, 60_000).acquire('k')
    const never = dead.locker.acquire('k', { waitMs: 60_000 })
    never.catch(() => {})
    await pass(1)
    dead.store.broken = 'loses its request'
    dead.store.deaf = true
    const log: string[] = []
    const wait = hold(waiting.locker, 'alive', log, 10)
    await pass(3000)
    // Dead for less than its time: the key is kept for it for half a second, and then somebody asks.
    await lease.release()
    await pass(5000)
    await wait
    expect(log).toEqual(['alive'])
    const again = await store(holder, 60_000).acquire('k')
    const late = hold(waiting.locker, 'late', log, 10)
    await pass(12_000)
    await again.release()
    await pass(1)
    expect(log).toEqual(['alive', 'late'])
    await pass(100)
    await late
    await pass(60_000)
  })

  test.each([1, 3, 20])(
    'L6: %d that died at once are passed over within 5 s, by the server alone',
    async (count) => {
      const holder = process()
      const lease = await store(holder, 60_000).acquire('k')
      const waiting = process()
      for (let i = 0; i < count; i++) {
        const claim = { token: `dead ${i}`, leaseMs: 60_000, metadata: '' }
        await memory.acquire(['k'], claim, { waiter: `dead ${i}` })
      }
      const log: string[] = []
      const wait = hold(waiting.locker, 'alive', log)
      await pass(1)
      await lease.release()
      await pass(5000)
      expect(log).toEqual(['alive'])
      await pass(100)
      await wait
    },
  )

  test('L7: a process keeps its turn for 16 passes at most', async () => {
    const [a, b] = [process(), process()]
    const first = await a.locker.acquire('k', { waitMs: 1000 })
    const log: string[] = []
    const own = Array.from({ length: 40 }, () => hold(a.locker, 'a', log, 0))
    const other = Array.from({ length: 40 }, () => hold(b.locker, 'b', log, 0))
    await pass(0)
    void first.release()
    await pass(1000)
    await Promise.all([...own, ...other])
    const turns = log.join('').match(/a+|b+/g) ?? []
    expect(Math.max(...turns.map(({ length }) => length))).toBe(17)
    expect(turns.length).toBeGreaterThanOrEqual(4)
  })

  test('L7: with work that takes long, who came first is first', async () => {
    const [a, b, c] = [process(), process(), process()]
    const first = await store(a).acquire('k', { waitMs: 1000 })
    const log: string[] = []
    const all = [hold(a.locker, 'a1', log, 100)]
    await pass(60)
    all.push(hold(b.locker, 'b1', log, 100))
    await pass(60)
    all.push(hold(c.locker, 'c1', log, 100))
    await pass(60)
    all.push(hold(a.locker, 'a2', log, 100), hold(b.locker, 'b2', log, 100))
    void first.release()
    await pass(2000)
    await Promise.all(all)
    expect(log.slice(0, 3)).toEqual(['a1', 'b1', 'c1'])
    expect(log.slice(3).sort()).toEqual(['a2', 'b2'])
  })

  test('L6: one that was too slow for its turn stands where it stood', async () => {
    const [holder, slow, ...others] = [process(), process(), process(), process()]
    const lease = await store(holder, 60_000).acquire('k')
    const log: string[] = []
    const all = [hold(slow.locker, 'slow', log)]
    for (const [index, { locker }] of others.entries()) {
      await pass(10)
      all.push(hold(locker, `other ${index}`, log, 4000))
    }
    slow.store.deaf = true
    await lease.release()
    await pass(600) // its turn lapses
    expect(await holder.locker.tryAcquire('k')).toBeUndefined() // newcomers do not overtake
    slow.store.deaf = false
    await pass(20_000)
    await Promise.all(all)
    expect(log).toEqual(['other 0', 'slow', 'other 1'])
  })

  test('L3, L6: a lease that ends in silence makes room for who waits', async () => {
    const holder = process()
    const waiting = process()
    await store(holder, 300).acquire('k')
    const log: string[] = []
    const wait = hold(waiting.locker, 'next', log, 1)
    await pass(299)
    expect(log).toEqual([])
    await pass(10)
    expect(log).toEqual(['next'])
    await pass(10)
    await wait
  })
})
