import type { QueueStats, RunEnd, ScheduleReply, SettleTaskReply } from '@sluice/core'

export const VISIBILITY_MS = 30_000
export const MAX_ATTEMPTS = 3
export const MAX_PENDING = 3

interface ModelTask {
  state: 'waiting' | 'running' | 'dead'
  /** When it is claimable. */
  at: number
  /** When it was to run first: what is handed back keeps its place. */
  due: number
  attempt: number
  receipt: string
}

/** What must be known of a queue to say what every call answers. */
export class Model {
  now = 0
  readonly tasks = new Map<string, ModelTask>()

  schedule(id: string, delayMs: number): ScheduleReply {
    if (this.tasks.has(id)) return 'exists'
    if (this.#count('waiting') >= MAX_PENDING) return 'full'
    const due = this.now + delayMs
    this.tasks.set(id, { state: 'waiting', at: due, due, attempt: 0, receipt: '' })
    return 'scheduled'
  }

  remove(id: string, state: 'waiting' | 'dead'): boolean {
    return this.tasks.get(id)?.state === state && this.tasks.delete(id)
  }

  redrive(id: string): boolean {
    const task = this.tasks.get(id)
    if (task?.state !== 'dead') return false
    const { now } = this
    Object.assign(task, { state: 'waiting', at: now, due: now, attempt: 0, receipt: '' })
    return true
  }

  /** Ids of this state that a claim may take by now, and when they became so. */
  claimable(state: 'waiting' | 'running'): Map<string, number> {
    const ready = [...this.tasks].filter(([, task]) => task.state === state && task.at <= this.now)
    return new Map(ready.map(([id, { at }]) => [id, at]))
  }

  take(id: string, receipt: string): number {
    const task = this.tasks.get(id) as ModelTask
    Object.assign(task, { state: 'running', at: this.now + VISIBILITY_MS, receipt })
    return ++task.attempt
  }

  /** Whether a task that fell silent dies, rather than be claimed again. */
  dies(id: string): boolean {
    return (this.tasks.get(id)?.attempt ?? 0) >= MAX_ATTEMPTS
  }

  bury(id: string): void {
    Object.assign(this.tasks.get(id) ?? {}, { state: 'dead' })
  }

  settle(id: string, receipt: string, end: RunEnd): SettleTaskReply {
    const task = this.tasks.get(id)
    if (!task) return 'gone'
    if (task.receipt !== receipt) return 'stale'
    if (task.state !== 'running') {
      const before = task.state === 'dead' ? ['dead'] : ['retry', 'returned']
      return before.includes(end.state) ? 'settled' : 'stale'
    }
    this.#end(id, task, end)
    return 'settled'
  }

  #end(id: string, task: ModelTask, end: RunEnd): void {
    if (end.state === 'done') this.tasks.delete(id)
    else if (end.state === 'dead') task.state = 'dead'
    else {
      const at = end.state === 'retry' ? this.now + end.delayMs : task.due
      Object.assign(task, { state: 'waiting', at })
      if (end.state === 'returned' && !end.attempted) task.attempt--
    }
  }

  extend(id: string, receipt: string): boolean {
    const task = this.tasks.get(id)
    if (task?.state !== 'running' || task.receipt !== receipt) return false
    task.at = this.now + VISIBILITY_MS
    return true
  }

  get nextMs(): number | undefined {
    const alive = [...this.tasks.values()].filter(({ state }) => state !== 'dead')
    if (alive.length === 0) return undefined
    return Math.max(0, Math.min(...alive.map(({ at }) => at)) - this.now)
  }

  get stats(): Omit<QueueStats, 'oldestDueMs'> {
    const due = this.claimable('waiting').size
    const silent = this.claimable('running').size
    return {
      scheduled: this.#count('waiting') - due,
      due: due + silent,
      processing: this.#count('running') - silent,
      dead: this.#count('dead'),
    }
  }

  #count(state: ModelTask['state']): number {
    return [...this.tasks.values()].filter((task) => task.state === state).length
  }
}
