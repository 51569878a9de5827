import { memoryStore } from '@sluice/core'
import { afterAll, afterEach, beforeAll, beforeEach, describe } from 'vitest'
import { closingTests } from './delay-queue/closing.ts'
import { failingTests } from './delay-queue/failing.ts'
import { type QueuePlace, QueueRig } from './delay-queue/queue-rig.ts'
import { runningTests } from './delay-queue/running.ts'

/** What queues and their workers must do, on every store. */
export function delayQueueContract(name: string, open: () => Promise<QueuePlace>): void {
  describe(`a delay queue: ${name}`, () => {
    const rig = new QueueRig()
    beforeAll(async () => rig.open(await open()))
    afterAll(() => rig.close())
    beforeEach(() => rig.renew())
    afterEach(() => rig.closeWorkers())
    runningTests(rig)
    closingTests(rig)
    failingTests(rig)
  })
}

export async function memoryQueues(): Promise<QueuePlace> {
  const store = memoryStore()
  return { store, [Symbol.asyncDispose]: () => store.close() }
}
