import { randomBytes } from 'node:crypto'
import { delayScripts, type Script } from '../generated/lua.ts'
import { Batch } from '../redis/batch.ts'
import type { RedisPort } from '../redis/client.ts'
import { keyPart } from '../redis/keys.ts'
import type { Messages } from '../redis/messages.ts'
import { runScript } from '../redis/script-runner.ts'
import {
  decodeClaim,
  decodeDead,
  decodeSchedule,
  decodeSettle,
  decodeStats,
} from './redis-replies.ts'
import type {
  DelayStore,
  Due,
  Hints,
  NewTask,
  RunEnd,
  ScheduleReply,
  SettleTaskReply,
  StoredDeadTask,
  TaskClaim,
  TaskClaimReply,
} from './store.ts'
import type { QueueStats } from './task.ts'

/**
 * Keeps tasks in Redis: one script a change. All keys of a queue share its hash tag, so that a queue lives on one
 * server of a Cluster. What one process schedules or ends within one turn of its event loop travels together.
 */
export class RedisDelayStore implements DelayStore {
  readonly remote = true
  readonly #redis: RedisPort
  readonly #messages: Messages
  readonly #prefix: string
  /** An application has few queues: their names stand in its code. */
  readonly #queues = new Map<string, QueueKeys>()
  readonly #schedules = new Batch<QueueKeys, Call<ScheduleReply>>(BATCH, (queue, calls) =>
    this.#sendAll(queue, delayScripts.schedule, [queue.tasks, queue.scheduled], calls),
  )
  readonly #ends = new Batch<QueueKeys, Call<SettleTaskReply>>(BATCH, (queue, calls) => {
    const { tasks, scheduled, processing, dead } = queue
    return this.#sendAll(queue, delayScripts.settle, [tasks, scheduled, processing, dead], calls)
  })

  constructor(redis: RedisPort, messages: Messages, prefix: string) {
    this.#redis = redis
    this.#messages = messages
    this.#prefix = `${prefix}:delay:`
  }

  schedule(name: string, { id, payload, due, maxPending }: NewTask): Promise<ScheduleReply> {
    const queue = this.#keys(name)
    const args = [id, encodeDue(due), maxPending === undefined ? '' : String(maxPending), payload]
    return new Promise((resolve, reject) => {
      const call: Call<ScheduleReply> = { args, decode: decodeSchedule, resolve, reject }
      // What is big gains nothing by company, and would make it late.
      if (payload.length <= BIG) this.#schedules.add(queue, call)
      else void this.#sendAll(queue, delayScripts.schedule, [queue.tasks, queue.scheduled], [call])
    })
  }

  settle(name: string, id: string, receipt: string, end: RunEnd): Promise<SettleTaskReply> {
    const queue = this.#keys(name)
    const args = [id, receipt, ...encodeEnd(end)]
    return new Promise((resolve, reject) =>
      this.#ends.add(queue, { args, decode: decodeSettle, resolve, reject }),
    )
  }

  async claim(name: string, claim: TaskClaim): Promise<TaskClaimReply> {
    const { tasks, scheduled, processing, dead, fence } = this.#keys(name)
    const receipt = randomBytes(16).toString('base64url')
    const numbers = [claim.max, claim.visibilityMs, claim.maxAttempts].map(String)
    const keys = [tasks, scheduled, processing, dead, fence] as const
    return decodeClaim(await this.#run(delayScripts.claim, keys, [...numbers, receipt]), receipt)
  }

  async extend(name: string, id: string, receipt: string, visibilityMs: number): Promise<boolean> {
    const { tasks, processing } = this.#keys(name)
    const args = [id, receipt, String(visibilityMs)]
    return (await this.#run(delayScripts.extend, [tasks, processing], args)) === 1
  }

  async cancel(name: string, id: string): Promise<boolean> {
    const { tasks, scheduled } = this.#keys(name)
    return (await this.#run(delayScripts.cancel, [tasks, scheduled], [id])) === 1
  }

  async stats(name: string): Promise<QueueStats> {
    const { scheduled, processing, dead } = this.#keys(name)
    return decodeStats(await this.#run(delayScripts.stats, [scheduled, processing, dead], []))
  }

  async dead(name: string, offset: number, limit: number): Promise<readonly StoredDeadTask[]> {
    const { tasks, dead } = this.#keys(name)
    const page = [String(offset), String(limit)]
    return decodeDead(await this.#run(delayScripts.listDead, [tasks, dead], page))
  }

  async redrive(name: string, id: string): Promise<boolean> {
    const { tasks, scheduled, dead, hints } = this.#keys(name)
    const args = [id, hints, this.#sharded]
    return (await this.#run(delayScripts.redrive, [tasks, scheduled, dead], args)) === 1
  }

  async discard(name: string, id: string): Promise<boolean> {
    const { tasks, dead } = this.#keys(name)
    return (await this.#run(delayScripts.discard, [tasks, dead], [id])) === 1
  }

  watch(name: string, onEarlier: (dueInMs: number) => void): Hints {
    return this.#messages.listen(this.#keys(name).hints, (message) => {
      const dueInMs = Number(message)
      if (dueInMs >= 0) onEarlier(dueInMs)
    })
  }

  /** Never rejects: each call has its own outcome. */
  async #sendAll<Reply>(
    queue: QueueKeys,
    script: Script,
    keys: Keys,
    calls: readonly Call<Reply>[],
  ): Promise<void> {
    try {
      const args = [queue.hints, this.#sharded, ...calls.flatMap((call) => call.args)]
      const replies = (await this.#run(script, keys, args)) as readonly unknown[]
      for (const [index, call] of calls.entries()) call.resolve(call.decode(replies[index]))
    } catch (error) {
      for (const call of calls) call.reject(error)
    }
  }

  #run(script: Script, keys: Keys, args: readonly string[]): Promise<unknown> {
    return runScript(this.#redis, script, keys, args)
  }

  get #sharded(): string {
    return this.#redis.cluster ? '1' : '0'
  }

  #keys(name: string): QueueKeys {
    let keys = this.#queues.get(name)
    if (!keys) {
      keys = keysOf(`${this.#prefix}{${keyPart(name)}}:`)
      this.#queues.set(name, keys)
    }
    return keys
  }
}

/** Calls that travel together at most. */
const BATCH = 64

/** Characters of a payload that travels alone. */
const BIG = 8192

type Keys = readonly [string, ...string[]]

/** See lua/delay/task.lua. */
interface QueueKeys {
  readonly tasks: string
  readonly scheduled: string
  readonly processing: string
  readonly dead: string
  readonly fence: string
  /** The channel. */
  readonly hints: string
}

interface Call<Reply> {
  readonly args: readonly string[]
  decode(reply: unknown): Reply
  resolve(reply: Reply): void
  reject(error: unknown): void
}

function keysOf(queue: string): QueueKeys {
  return {
    tasks: `${queue}tasks`,
    scheduled: `${queue}scheduled`,
    processing: `${queue}processing`,
    dead: `${queue}dead`,
    fence: `${queue}fence`,
    hints: `${queue}hints`,
  }
}

/** See lua/delay/schedule.lua. */
function encodeDue(due: Due): string {
  return 'at' in due ? `@${due.at}` : `+${due.delayMs}`
}

/** See lua/delay/settle.lua. */
function encodeEnd(end: RunEnd): readonly [letter: string, ms: string, error: string] {
  switch (end.state) {
    case 'done':
      return ['A', '', '']
    case 'retry':
      return ['R', String(end.delayMs), '']
    case 'dead':
      return ['D', '', JSON.stringify(end.error)]
    case 'returned':
      return [end.attempted ? 'B' : 'U', '', '']
  }
}
