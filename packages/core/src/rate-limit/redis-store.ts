import { rateLimitScripts, type Script } from '../generated/lua.ts'
import { Batch } from '../redis/batch.ts'
import type { RedisPort } from '../redis/client.ts'
import { keyPart } from '../redis/keys.ts'
import { isReplyError, runScript } from '../redis/script-runner.ts'
import { NativeWindow } from './native-window.ts'
import type { Algorithm, Policy } from './policy.ts'
import { decodeStandings, replyWidth } from './redis-replies.ts'
import type { Quota, RateLimitStore, Standing } from './store.ts'

/** Keeps spent quota in Redis: one script a decision, or a decision each for the subjects of one tick. */
export class RedisRateLimitStore implements RateLimitStore {
  readonly remote = true
  readonly #redis: RedisPort
  readonly #prefix: string
  readonly #plans = new WeakMap<Quota, Plan>()
  readonly #batch = new Batch<Plan, Call>(BATCH, (plan, calls) => this.#decide(plan, calls))
  readonly #native: NativeWindow
  /** One hash slot a command: a cluster, or what turned out to be one behind a proxy. */
  #oneSlot: boolean

  constructor(redis: RedisPort, prefix: string) {
    this.#redis = redis
    this.#prefix = prefix
    this.#native = new NativeWindow(redis, prefix)
    this.#oneSlot = redis.cluster
  }

  close(): void {
    this.#native.close()
  }

  consume(quota: Quota, subject: string, cost: number): Promise<readonly Standing[]> {
    const plan = this.#plan(quota)
    const keys = this.#keys(plan, subject)
    return this.#native.serves(plan.policies)
      ? this.#consumeNatively(plan, keys, cost)
      : this.#consumeByScript(plan, keys, cost)
  }

  async #consumeNatively(plan: Plan, keys: Keys, cost: number): Promise<readonly Standing[]> {
    const standing = await this.#native.consume(keys[0], plan.policies[0] as Policy, cost)
    return standing ? [standing] : this.#consumeByScript(plan, keys, cost)
  }

  #consumeByScript(plan: Plan, keys: Keys, cost: number): Promise<readonly Standing[]> {
    return new Promise((resolve, reject) => {
      const call: Call = { keys, cost, resolve, reject }
      if (this.#oneSlot) void this.#decide(plan, [call])
      else this.#batch.add(plan, call)
    })
  }

  async peek(quota: Quota, subject: string, cost: number): Promise<readonly Standing[]> {
    const plan = this.#plan(quota)
    const args = [...plan.args, String(cost)]
    const reply = await this.#run(rateLimitScripts.peek, this.#keys(plan, subject), args)
    const numbers = decodeIntegers(reply, plan.width)
    return decodeStandings(numbers, 0, quota.policies, { cost, charging: false })
  }

  async refund(quota: Quota, subject: string, cost: number): Promise<void> {
    const plan = this.#plan(quota)
    const keys = this.#keys(plan, subject)
    let left: readonly number[] = quota.policies.map(() => cost)
    while (left.some((units) => units > 0)) {
      const args = [...plan.args, ...left.map(String)]
      left = decodeIntegers(await this.#run(rateLimitScripts.refund, keys, args), left.length)
    }
  }

  async reset(quota: Quota, subject: string): Promise<void> {
    const keys = this.#keys(this.#plan(quota), subject)
    await this.#redis.send(keys[0], ['DEL', ...keys])
  }

  async #decide(plan: Plan, calls: readonly Call[]): Promise<void> {
    const keys = calls.flatMap((call) => call.keys) as unknown as Keys
    const args = [...plan.args, ...costs(calls)]
    try {
      const reply = await this.#run(plan.consume, keys, args)
      const numbers = decodeIntegers(reply, calls.length * plan.width)
      for (const [index, call] of calls.entries())
        call.resolve(
          decodeStandings(numbers, index * plan.width, plan.policies, {
            cost: call.cost,
            charging: true,
          }),
        )
    } catch (error) {
      // Nothing ran: a server that takes no keys of different slots looked at them first.
      if (calls.length > 1 && isReplyError(error, 'CROSSSLOT')) {
        this.#oneSlot = true
        for (const call of calls) void this.#decide(plan, [call])
      } else for (const call of calls) call.reject(error)
    }
  }

  #run(script: Script, keys: Keys, args: readonly string[]): Promise<unknown> {
    return runScript(this.#redis, script, keys, args)
  }

  /** All keys of one subject share its hash tag. */
  #keys(plan: Plan, subject: string): Keys {
    const tag = `${this.#prefix}:rate-limit:{${keyPart(subject)}}`
    const keys = plan.suffixes.map((suffix) => tag + suffix)
    return keys as unknown as Keys
  }

  #plan(quota: Quota): Plan {
    let plan = this.#plans.get(quota)
    if (!plan) {
      plan = planOf(quota)
      this.#plans.set(quota, plan)
    }
    return plan
  }
}

/** Decisions that travel together at most: longer batches gain little and make the first wait for the last. */
const BATCH = 16

type Keys = readonly [string, ...string[]]

/** What can be prepared of a quota's calls. */
interface Plan {
  readonly policies: readonly Policy[]
  /** Numbers in a reply for one subject. */
  readonly width: number
  readonly suffixes: readonly string[]
  readonly args: readonly string[]
  readonly consume: Script
}

interface Call {
  readonly keys: Keys
  readonly cost: number
  readonly resolve: (standings: readonly Standing[]) => void
  readonly reject: (error: unknown) => void
}

function planOf({ name, policies }: Quota): Plan {
  return {
    policies,
    width: policies.reduce((sum, policy) => sum + replyWidth(policy), 0),
    suffixes: policies.map((policy) => suffix(name, policy)),
    args: [
      String(policies.length),
      ...policies.flatMap(({ algorithm, limit, rate }) => [
        algorithm,
        String(limit),
        String(rate.amount),
        String(rate.periodMs),
        String(algorithm === 'sliding-window' ? 2 * rate.periodMs : rate.periodMs),
      ]),
    ],
    consume: consumeScript(policies),
  }
}

function consumeScript(policies: readonly Policy[]): Script {
  const [first, second] = policies
  return first && !second
    ? rateLimitScripts[`consume:${first.algorithm}`]
    : rateLimitScripts.consumeAll
}

/** One cost for all where it is the same, as it nearly always is. */
function costs(calls: readonly Call[]): readonly string[] {
  const first = calls[0]?.cost
  return calls.every((call) => call.cost === first)
    ? [String(first)]
    : calls.map((call) => String(call.cost))
}

/** Names only where they are not the defaults: most keys stay short. */
function suffix(quota: string, { algorithm, name }: Policy): string {
  const letter = letters[algorithm]
  if (quota === 'default' && name === algorithm) return letter
  return `${letter}:${keyPart(quota)}:${keyPart(name)}`
}

const letters: { readonly [Name in Algorithm]: string } = {
  'fixed-window': 'f',
  'sliding-window': 's',
  'sliding-log': 'l',
  'token-bucket': 't',
  'leaky-bucket': 'k',
}

function decodeIntegers(reply: unknown, count: number): readonly number[] {
  if (!Array.isArray(reply) || reply.length !== count)
    throw new TypeError(`expected ${count} integers from the script`)
  // Clients can be set to give integers as strings.
  return typeof reply[0] === 'string' ? reply.map(Number) : reply
}
