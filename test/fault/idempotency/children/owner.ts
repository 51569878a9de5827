import {
  type Begun,
  createIdempotency,
  type Execution,
  type IdempotencyEvent,
  type IdempotencyOptions,
  type IdempotencyRequest,
  type RedisClient,
  redisStore,
  subscribe,
} from '@sluice/core'
import { Redis } from 'ioredis'
import { answerParent } from '../../../support/answer-parent.ts'
import type { Order } from '../owner.ts'

/** A process that begins, runs and settles as its parent orders. */
const [port, options] = process.argv.slice(2)
const redis = new Redis(Number(port), '127.0.0.1')
redis.on('error', () => {})
const idempotency = createIdempotency({
  ...(JSON.parse(String(options)) as IdempotencyOptions),
  store: redisStore(redis as RedisClient),
})
const events: IdempotencyEvent[] = []
subscribe('sluice:idempotency', (event) => events.push(event))
let execution: Execution

answerParent(async (order: Order) => {
  switch (order.do) {
    case 'begin':
      return begin(order.request)
    case 'complete':
      return execution.complete({ status: 200, headers: [], body: order.body })
    case 'copies':
      return Promise.all(Array.from({ length: order.copies }, () => runOnce(order.request)))
    case 'tell':
      return { aborted: execution?.signal.aborted, events }
  }
})

async function begin(request: IdempotencyRequest): Promise<unknown> {
  const begun = await idempotency.begin(request)
  if (begun.state !== 'started') return begun
  execution = begun.execution
  return { state: begun.state, attempt: execution.attempt, fence: execution.fence }
}

/** What every copy of a request does: the work that must happen once is an INCR. */
async function runOnce(request: IdempotencyRequest): Promise<Begun | string> {
  const begun = await idempotency.begin(request)
  if (begun.state !== 'started') return begun
  const runs = await redis.incr(`runs:${request.key}`)
  const body = `run ${runs} by ${process.pid}`
  await begun.execution.complete({ status: 201, headers: [], body })
  return body
}
