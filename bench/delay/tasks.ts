import { loopOf } from '../library/loop.ts'
import { answer } from '../process/answer.ts'
import { drain, type Errand, onTime } from './errands.ts'
import { idle } from './idle.ts'

/** A queue as its package gives it. */
export interface Tasks {
  schedule(id: string, payload: Payload, delayMs: number): Promise<unknown>
  /** Resolves when it could start at once. */
  worker(concurrency: number, run: (task: DueTask) => void): Promise<TaskWorker>
}

export interface TaskWorker {
  start(): void
  /** Resolves when so many tasks have been run and the store knows. */
  acknowledged(tasks: number): Promise<void>
  close(): Promise<unknown>
}

export interface DueTask {
  readonly id: string
  /** Epoch milliseconds. */
  readonly dueAt: number
}

export interface Payload {
  readonly orderId: string
  readonly customerId: string
  readonly totalCents: number
}

/** What an order that expires needs. */
export function payloadOf(id: string): Payload {
  return { orderId: id, customerId: `customer-${id.slice(-3)}`, totalCents: 12_900 }
}

/** Lets the parent load a package in every way that is measured. */
export function serveTasks(tasks: Tasks): void {
  let scheduled = 0
  const order = () => `order-${1_000_000 + scheduled++}`
  answer({
    run: loopOf({
      consume: () => {
        const id = order()
        return tasks.schedule(id, payloadOf(id), LATER_MS)
      },
      allows: () => true,
    }),
    drain: (errand: Errand) => drain(tasks, order, errand),
    onTime: (errand: Errand) => onTime(tasks, order, errand),
    idle: (durationMs: number) => idle(tasks, durationMs),
  })
}

/** No task that is scheduled for its own sake is due while something is measured. */
const LATER_MS = 3_600_000
