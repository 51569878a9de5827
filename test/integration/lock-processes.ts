import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach } from 'vitest'
import { eventually } from '../support/eventually.ts'
import { LockProcess } from './lock-process.ts'

const PROCESSES = 4

/** Of the test that runs. */
export let processes: readonly LockProcess[]
export let prefix: string

/** Gives each test of the file processes of its own. */
export function startProcesses(): void {
  beforeEach(() => {
    prefix = `lock-${randomUUID()}`
    processes = Array.from({ length: PROCESSES }, () => new LockProcess(prefix))
  })
  afterEach(async () => {
    for (const one of processes) await one[Symbol.asyncDispose]()
  })
}

export function processNo(i: number): LockProcess {
  return processes[i % PROCESSES] as LockProcess
}

/** Waits until so many processes stand in line. */
export async function inLine(count: number): Promise<void> {
  await eventually(async () => (await processNo(0).locker().inspect('k'))?.waiters === count)
}

/** Waits until each of so many listens, and has asked again for what came before it could hear. */
export async function inLineAndListening(count: number): Promise<void> {
  await inLine(count)
  const { redis } = processNo(0)
  await eventually(async () => {
    const channels = (await redis.pubsub('CHANNELS', `${prefix}*`)) as string[]
    return channels.length === count
  })
  let before: readonly number[]
  do {
    before = processes.map(({ sent }) => sent)
    await sleep(100)
  } while (processes.some(({ sent }, i) => sent !== before[i]))
}

export const waitMs = 15_000
