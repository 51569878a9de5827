import { afterEach, describe, expect, test } from 'vitest'
import {
  ConfigurationError,
  createDelayQueue,
  type DelayQueueOptions,
  memoryStore,
  PayloadTooLargeError,
  QueueFullError,
  redisStore,
  type ScheduleTime,
  StoreUnavailableError,
  type Worker,
  type WorkOptions,
} from '../../src/index.ts'

const store = memoryStore()
let queues = 0
const workers: Worker[] = []

function queue(options: Partial<DelayQueueOptions> = {}) {
  return createDelayQueue({ name: `queue ${++queues}`, store, ...options })
}

afterEach(async () => {
  for (const worker of workers.splice(0)) await worker.close()
})

describe('the options of a queue', () => {
  test.each<[object, string]>([
    [{ name: '' }, 'name'],
    [{ name: undefined }, 'name'],
    [{ name: 7 }, 'name'],
    [{ store: {} }, 'store'],
    [{ visibilityMs: 99 }, 'visibilityMs'],
    [{ visibilityMs: 1000.5 }, 'visibilityMs'],
    [{ maxAttempts: 0 }, 'maxAttempts'],
    [{ maxAttempts: Number.POSITIVE_INFINITY }, 'maxAttempts'],
    [{ backoff: 5 }, 'backoff'],
    [{ backoff: null }, 'backoff'],
    [{ backoff: { baseMs: -1 } }, 'baseMs'],
    [{ maxPending: 0 }, 'maxPending'],
    [{ maxPayloadBytes: 0 }, 'maxPayloadBytes'],
    [{ maxPayloadBytes: 1_048_577 }, 'maxPayloadBytes'],
    [{ sweepMs: 9 }, 'sweepMs'],
    [{ timeoutMs: 0 }, 'timeoutMs'],
    [{ visibility: 1000 }, 'visibility'],
  ])('are checked at construction: %j', (options, option) => {
    const make = () => queue(options as Partial<DelayQueueOptions>)
    expect(make).toThrow(ConfigurationError)
    expect(make).toThrow(expect.objectContaining({ option }))
  })

  test('need a store that has delayed tasks', () => {
    const rateLimitOnly = { rateLimit: store.rateLimit, close: async () => {} }
    expect(() => queue({ store: rateLimitOnly })).toThrow('store')
    const client = { isCluster: false, call: async () => null, pipeline() {}, on() {}, off() {} }
    const several = redisStore([{ ...client }, { ...client }, client])
    expect(() => queue({ store: several })).toThrow('a store on one client')
  })

  test('share the store of the process by default', async () => {
    const [one, two] = [1, 2].map(() => createDelayQueue({ name: 'default store' }))
    expect(await one?.schedule('a', 1, { delayMs: 1000 })).toBe('scheduled')
    expect(await two?.schedule('a', 1, { delayMs: 1000 })).toBe('exists')
    expect(await two?.cancel('a')).toBe(true)
  })
})

describe('what cannot be scheduled', () => {
  test.each<[unknown, string]>([
    [{ delayMs: -1 }, 'delayMs'],
    [{ delayMs: 1.5 }, 'delayMs'],
    [{ delayMs: Number.NaN }, 'delayMs'],
    [{ delayMs: Number.POSITIVE_INFINITY }, 'delayMs'],
    [{ delayMs: '5' }, 'delayMs'],
    [{ delayMs: 3_653 * 86_400_000 + 1 }, 'delayMs'],
    [{ at: Date.now() + 3_654 * 86_400_000 }, 'at'],
    [{ at: new Date(Number.NaN) }, 'at'],
    [{ at: 1.5 }, 'at'],
    [{ at: '2030-01-01' }, 'at'],
    [{}, 'when'],
    [undefined, 'when'],
    [null, 'when'],
    [{ delayMs: 1, at: 5 }, 'when'],
    [{ delayMs: 1, attempts: 3 }, 'when'],
  ])('D7: at a wrong time: %j', async (when, option) => {
    const refused = queue().schedule('id', 1, when as ScheduleTime)
    await expect(refused).rejects.toThrow(ConfigurationError)
    await expect(refused).rejects.toMatchObject({ option })
  })

  test.each(['', 7, undefined, 'x'.repeat(513), 'half \uD83D of a pair'])(
    'D3: by an id that is none: %j',
    async (id) => {
      const one = queue()
      await expect(one.schedule(id as string, 1, { delayMs: 0 })).rejects.toMatchObject({
        option: 'id',
      })
      await expect(one.cancel(id as string)).rejects.toThrow(ConfigurationError)
      await expect(one.dead.redrive(id as string)).rejects.toThrow(ConfigurationError)
      await expect(one.dead.discard(id as string)).rejects.toThrow(ConfigurationError)
    },
  )

  const circular: { self?: unknown } = {}
  circular.self = circular
  test.each([[undefined], [() => 1], [Symbol('s')], [10n], [{ deep: [1n] }], [circular]])(
    'D8: a payload that JSON does not have',
    async (payload) => {
      const refused = queue().schedule('id', payload, { delayMs: 0 })
      await expect(refused).rejects.toThrow(ConfigurationError)
      await expect(refused).rejects.toMatchObject({ option: 'payload' })
    },
  )

  test('D8: a payload of more bytes than may be, counted as UTF-8', async () => {
    const one = queue({ maxPayloadBytes: 100 })
    expect(await one.schedule('a', 'é'.repeat(49), { delayMs: 0 })).toBe('scheduled')
    const refused = one.schedule('b', 'é'.repeat(50), { delayMs: 0 })
    await expect(refused).rejects.toThrow(PayloadTooLargeError)
    await expect(refused).rejects.toMatchObject({
      code: 'payload-too-large',
      bytes: 102,
      maxPayloadBytes: 100,
      message: 'The payload must be at most 100 bytes of JSON, but it is 102',
    })
    expect(await one.stats()).toMatchObject({ due: 1 })
  })

  test('D8: 64 KiB of payload are allowed by default', async () => {
    const one = queue()
    expect(await one.schedule('a', 'x'.repeat(65_534), { delayMs: 0 })).toBe('scheduled')
    await expect(one.schedule('b', 'x'.repeat(65_535), { delayMs: 0 })).rejects.toMatchObject({
      code: 'payload-too-large',
    })
  })

  test('D8: more tasks than may wait', async () => {
    const one = queue({ maxPending: 1, name: 'small' })
    await one.schedule('a', 1, { delayMs: 1000 })
    const refused = one.schedule('b', 1, { delayMs: 0 })
    await expect(refused).rejects.toThrow(QueueFullError)
    await expect(refused).rejects.toMatchObject({
      code: 'queue-full',
      queue: 'small',
      maxPending: 1,
      message: 'The queue "small" is full: 1 tasks are waiting',
    })
  })

  test('D11: more tasks than the memory store holds', async () => {
    const small = memoryStore({ maxKeys: 2 })
    const one = queue({ store: small })
    const other = queue({ store: small })
    await one.schedule('a', 1, { delayMs: 1000 })
    await other.schedule('a', 1, { delayMs: 1000 })
    const refused = one.schedule('b', 1, { delayMs: 0 })
    await expect(refused).rejects.toThrow(StoreUnavailableError)
    await expect(refused).rejects.toMatchObject({ reason: 'full' })
    expect(await one.schedule('a', 1, { delayMs: 0 })).toBe('exists')
    await other.cancel('a')
    expect(await one.schedule('b', 1, { delayMs: 0 })).toBe('scheduled')
  })
})

describe('the options of a worker', () => {
  test.each<[object, string]>([
    [{ concurrency: 0 }, 'concurrency'],
    [{ concurrency: 1.5 }, 'concurrency'],
    [{ signal: {} }, 'signal'],
    [{ concurency: 1 }, 'concurency'],
  ])('are checked at once: %j', (options, option) => {
    const work = () => queue().work(() => {}, options as WorkOptions)
    expect(work).toThrow(ConfigurationError)
    expect(work).toThrow(expect.objectContaining({ option }))
  })

  test('D5: that are wrong leave nothing behind that would keep the process alive', () => {
    const timers = () => process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout')
    const one = queue()
    const before = timers()
    expect(() => one.work(() => {}, { concurrency: 0 })).toThrow(ConfigurationError)
    expect(timers()).toEqual(before)
  })

  test('include a handler', () => {
    expect(() => queue().work(undefined as never)).toThrow('`handler` must be a function')
  })

  test('D5: a grace that is none is refused, and the worker goes on', async () => {
    const one = queue()
    const ran: string[] = []
    const worker = one.work((task) => ran.push(task.id))
    workers.push(worker)
    expect(() => worker.close({ graceMs: -1 })).toThrow(ConfigurationError)
    await one.schedule('a', 1, { delayMs: 0 })
    await expect.poll(() => ran).toEqual(['a'])
  })
})
