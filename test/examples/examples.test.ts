import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, inject, it } from 'vitest'
import { RedisCluster } from '../support/redis-cluster.ts'
import { RedisSentinel } from '../support/redis-sentinel.ts'
import { ROOT, type RunOptions, runExample } from '../support/run-example.ts'

const url = `redis://127.0.0.1:${inject('redisPort')}`

/** What each example prints, in this order; between these lines there may be others. */
const examples: Readonly<Record<string, readonly string[]>> = {
  'behind-a-proxy.ts': [
    'you are 203.0.113.7',
    'you are 203.0.113.7',
    'GET /        429',
    'you are 203.0.113.8',
  ],
  'cluster-sentinel.ts': ['This example needs servers.'],
  'custom-answer.ts': ['hello', '<h1>One moment</h1>', '{"error":"slow-down"'],
  'delay-order-expiry.ts': [
    'order-1: paid',
    'placed again: exists',
    'order-2: expired',
    'order-2: too late',
    'order-3: dead after 2 attempts: the warehouse did not answer (attempt 2)',
    'order-3: expired',
    'scheduled: 0',
  ],
  'dynamic-policy.ts': [
    'GET /        429',
    'Ann buys the pro plan',
    '200  RateLimit: "fixed-window";r=97',
  ],
  'express-basic.ts': [
    'requests left: 2',
    'requests left: 0',
    'GET /        429',
    'quota-exceeded',
  ],
  'flexible-memory.ts': [
    '"search";r=1',
    'GET /search  429',
    'meanwhile: 0 left, said by local',
    'GET /mail    429',
  ],
  'flexible-postgres.ts': ['"per-minute";r=2', 'GET /        429', 'points: 4', '"per-minute";r=2'],
  'idempotency-express.ts': [
    'POST /payments 201\n{"payment":1,',
    '201  Idempotency-Replayed: true\n{"payment":1,',
    'POST /payments 422',
    'idempotency-key-reused',
    'POST /payments 201\n{"payment":2,',
    '2 payments made',
  ],
  'idempotency-job.ts': [
    "[ 'done', 'later' ]\ndone\npark\npark\npark\nlater\ndone\n",
    '2 mails sent',
  ],
  'idempotency-koa.ts': [
    'POST /payments 201\n',
    ...new Array<string>(4).fill('201  Idempotency-Replayed: true'),
    new Array<string>(5).fill('{"payment":1}').join(' '),
    '1 payment made',
  ],
  'idempotency-unknown.ts': [
    'order-7: no answer',
    'POST /payments 409',
    'idempotency-outcome-unknown',
    'order-7: confirmed',
    'order-8: released',
    '201  Idempotency-Replayed: true\n{"amount":500}',
    'order-8 may run again: true',
  ],
  'koa-basic.ts': ['requests left: 2', 'requests left: 0', 'GET /        429', 'quota-exceeded'],
  'leaky-wait.ts': ['waited 0 ms', '"violated-policies":["leaky-bucket"]'],
  'library-only.ts': [
    '7 left',
    '8 are too many now',
    '0 left',
    'in Infinity ms',
    '5 left',
    '10 left',
  ],
  'lock-decorator.ts': [
    'POST /orders/7/pay 201',
    'POST /orders/7/pay 409',
    'POST /orders/7/pay 409',
    'charged once',
  ],
  'lock-express.ts': [
    'POST /orders/7/pay 423  Retry-After: 10',
    'POST /orders/7/pay 201',
    'lock-contended',
    'POST /orders/7/pay 201',
    'paid 2 times',
    'GET /reports/daily 200\nGET /reports/daily 200\n{"locked":true} {"locked":true}',
  ],
  'lock-fence.ts': ['POST /orders/7/pay 201', 'POST /orders/7/pay 409', "[ { paid_by: 'ben' } ]"],
  'lock-koa.ts': ['20 transfers, at most 1 at a time'],
  'lock-library.ts': [
    'ann has 110\nbob has 5\ntrue already-lost\nrefused: bob came too late\nbob has 5\n',
    'ann has 104, bob has 11',
    'two: not my turn',
    'lock-timeout',
  ],
  'login-refund.ts': [
    '200  RateLimit: "attempts"',
    '401  RateLimit: "attempts";r=0',
    'POST /login  429',
  ],
  'node-redis.ts': ['This example needs a Redis'],
  'postgres-fence.ts': ['refused: 1 owner too late', 'price: 14'],
  'postgres-outbox.ts': [
    'dead after 3 attempts: the mail server is down',
    'attempt 1: order-placed\nattempt 1: order-paid\n2 mails sent',
  ],
  'postgres-transactions.ts': [
    'POST /payments 201\n{"payment":1,',
    '201  Idempotency-Replayed: true\n{"payment":1,',
    'POST /payments 402',
    'POST /payments 201\n{"payment":2,',
    '{ payments: 2, balance: 100 }',
  ],
  'redis.ts': ['This example needs a Redis'],
  'several-policies.ts': ['"daily";r=9998', 'GET /        429', '"daily";r=9998'],
  'shadow-mode.ts': ['allowed: true', 'api would have refused client', 'allowed: false'],
  'tests-without-redis.ts': ['A minute went by in no time'],
}

describe('every example', () => {
  it.for(Object.entries(examples))(
    '%s runs, says what happened and ends',
    { timeout: 60_000 }, // the embedded PostgreSQL of one takes seconds of computing to start
    ([file, lines]) => expectOutput(file, lines),
  )

  it('is run by a test', async () => {
    const entries = await readdir(join(ROOT, 'examples'))
    expect(Object.keys(examples).sort()).toEqual(
      entries.filter((name) => name.endsWith('.ts')).sort(),
    )
  })
})

describe('the examples with servers', () => {
  it('redis.ts lets the server decide', () =>
    expectOutput('redis.ts', ['source: store', 'source: store'], {
      env: { REDIS_URL: url },
    }))

  it('node-redis.ts lets the server decide', () =>
    expectOutput('node-redis.ts', ['source: store', 'source: store', 'source: store'], {
      env: { REDIS_URL: url },
    }))

  it('cluster-sentinel.ts lets a Cluster decide', { timeout: 60_000 }, async () => {
    await using cluster = await RedisCluster.start()
    await expectOutput('cluster-sentinel.ts', customersIn('store'), {
      env: { REDIS_CLUSTER: list(cluster.addresses) },
    })
  })

  it('cluster-sentinel.ts asks the sentinels for the master', { timeout: 60_000 }, async () => {
    await using sentinel = await RedisSentinel.start({ sentinels: 1 })
    await expectOutput('cluster-sentinel.ts', customersIn('store'), {
      env: { REDIS_SENTINELS: list(sentinel.addresses), REDIS_MASTER: sentinel.name },
    })
  })
})

async function expectOutput(
  file: string,
  lines: readonly string[],
  options: RunOptions = {},
): Promise<void> {
  const { code, stdout, stderr } = await runExample(file, options)
  expect(stderr).toBe('')
  expect(code).toBe(0)
  let from = 0
  for (const line of lines) {
    const at = stdout.indexOf(line, from)
    expect(at, `"${line}" in its place in\n${stdout}`).toBeGreaterThanOrEqual(0)
    from = at + line.length
  }
}

function customersIn(source: string): string[] {
  return ['ann', 'ben', 'cid'].map((customer) => `${customer} allowed: true, source: ${source}`)
}

function list(addresses: readonly { host: string; port: number }[]): string {
  return addresses.map(({ host, port }) => `${host}:${port}`).join(',')
}
