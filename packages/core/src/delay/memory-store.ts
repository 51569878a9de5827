import { StoreUnavailableError } from '../errors.ts'
import { MemoryQueue, type QueueClock } from './memory-queue.ts'
import type {
  DelayStore,
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

/** What the memory store needs from its bundle. */
export interface MemoryOptions {
  readonly maxKeys: number
  /** A monotonic clock in milliseconds. */
  readonly now: () => number
}

/** Keeps tasks in this process, as long as it lives. Twin of lua/delay/. */
export class MemoryDelayStore implements DelayStore {
  readonly remote = false
  readonly #maxKeys: number
  readonly #queues = new Map<string, MemoryQueue>()
  readonly #clock: QueueClock

  constructor({ maxKeys, now }: MemoryOptions) {
    this.#maxKeys = maxKeys
    let last = 0
    this.#clock = {
      now: () => Math.floor(now()),
      // Never twice the same, not even for different tasks, and after those of an earlier process.
      mintFence: () => {
        last = Math.max(last + 1, Date.now() * 1000)
        return last
      },
    }
  }

  async schedule(name: string, task: NewTask): Promise<ScheduleReply> {
    const queue = this.#queue(name)
    if (!queue.has(task.id)) this.#makeRoom()
    return queue.schedule(task)
  }

  async cancel(name: string, id: string): Promise<boolean> {
    return this.#queue(name).cancel(id)
  }

  async claim(name: string, claim: TaskClaim): Promise<TaskClaimReply> {
    return this.#queue(name).claim(claim)
  }

  async settle(name: string, id: string, receipt: string, end: RunEnd): Promise<SettleTaskReply> {
    return this.#queue(name).settle(id, receipt, end)
  }

  async extend(name: string, id: string, receipt: string, visibilityMs: number): Promise<boolean> {
    return this.#queue(name).extend(id, receipt, visibilityMs)
  }

  async stats(name: string): Promise<QueueStats> {
    return this.#queue(name).stats()
  }

  async dead(name: string, offset: number, limit: number): Promise<readonly StoredDeadTask[]> {
    return this.#queue(name).dead(offset, limit)
  }

  async redrive(name: string, id: string): Promise<boolean> {
    return this.#queue(name).redrive(id)
  }

  async discard(name: string, id: string): Promise<boolean> {
    return this.#queue(name).discard(id)
  }

  watch(name: string, onEarlier: (dueInMs: number) => void): Hints {
    return { ready: Promise.resolve(), close: this.#queue(name).watch(onEarlier) }
  }

  #queue(name: string): MemoryQueue {
    let queue = this.#queues.get(name)
    if (!queue) {
      queue = new MemoryQueue(this.#clock)
      this.#queues.set(name, queue)
    }
    return queue
  }

  #makeRoom(): void {
    let held = 0
    for (const { size } of this.#queues.values()) held += size
    if (held >= this.#maxKeys)
      throw new StoreUnavailableError('full', `it holds ${this.#maxKeys} tasks already`)
  }
}
