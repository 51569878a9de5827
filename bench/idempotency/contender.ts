import type { AddressInfo } from 'node:net'
import type { Contender } from '../harness.ts'
import type { Answers, Load } from '../http-apps/load-generator.ts'
import { type Child, startChild } from '../process/child.ts'
import type { RedisServer } from '../redis.ts'
import type { Settings } from '../settings.ts'

/** One application that protects the same handler. */
export interface Protected {
  readonly name: string
  /** The child's file below bench/. */
  readonly entry: string
}

export interface IdempotencyPlan {
  readonly redis: RedisServer
  readonly generator: Child
  readonly settings: Settings
  readonly connections: number
  /** `first`: each request has a key of its own. `replay`: results of so many keys, asked for again. */
  readonly measured: 'first' | 'replay'
  readonly keys: number
}

/** An application under requests with keys; wrong unless the handler ran exactly as often as it should have. */
export async function idempotencyContender(
  plan: IdempotencyPlan,
  { name, entry }: Protected,
): Promise<Contender> {
  const { redis, connections, keys, measured } = plan
  const child = await startChild(entry, plan.settings)
  const { port } = await child.call<AddressInfo>('address')
  const fresh = measured === 'first'
  const prefix = entry.replace(/\W+/g, '-') // contenders on one Redis must not find each other's results
  let expected = fresh ? 0 : keys
  let loads = 0
  const load = async (part: Partial<Load>): Promise<Answers> => {
    const shared = { port, connections, subjects: keys, keys: { prefix, fresh } }
    const answers = await plan.generator.call<Answers>('run', { ...shared, ...part })
    if (fresh) expected += answers.accepted
    loads += 1
    return answers
  }
  return {
    name,
    expect: 'accepted',
    prepare: async (atMost) => {
      await load({ amount: fresh ? connections : Math.min(keys, atMost) })
    },
    round: async (durationMs) => {
      if (fresh) await redis.control.flushall('ASYNC') // what is done is not asked for again
      const before = await redis.cpuMs()
      const answers = await load({ durationMs })
      return { ...answers, redisCpuMs: (await redis.cpuMs()) - before }
    },
    check: async () => {
      const executions = await child.call<number>('executions')
      // Requests that were on their way when a load ended have run, but their answers were not counted.
      const cutOff = fresh ? connections * loads : 0
      if (executions >= expected && executions <= expected + cutOff) return undefined
      return `ran ${executions} times where ${expected} were due`
    },
    close: () => child.close(),
  }
}
