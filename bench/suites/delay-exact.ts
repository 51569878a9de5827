import { type Child, startChild } from '../process/child.ts'
import type { RedisServer } from '../redis.ts'
import type { Named, Row, Value } from '../rows.ts'
import { taskPackages } from './delay.ts'
import { type Bench, type Suite, settingsOf } from './suite.ts'

const base = 'BullMQ'
const ours = 'Sluice'
const tasks = 5000

const delayBytes: Suite = {
  name: 'delay-bytes',
  conditions: `MEMORY USAGE of all keys while ${tasks} delayed tasks wait, a task`,
  run: async (bench) => {
    const bytes: Named[] = []
    for (const { name, entry } of taskPackages)
      bytes.push({ name, value: await bytesATask(bench, entry).catch(String) })
    const others = bytes.map(({ name, value }): Named => {
      const size = typeof value === 'number' ? `, ${value.toFixed(0)} bytes` : ''
      return { name: `${name}${size}`, value: byBase(bytes, name) }
    })
    const measure = 'Redis bytes a waiting task, against BullMQ'
    return {
      rows: [
        { measure, target: { atMost: 0.55 }, unit: 'times', ours: byBase(bytes, ours), others },
      ],
    }
  },
}

const delayCommands: Suite = {
  name: 'delay-commands',
  conditions:
    'a worker of an empty queue, once it has come to rest: commands a second that its clients send',
  run: async (bench) => {
    await bench.redis.control.flushall()
    // Longer than a sweep, whose share must not be missed. What is counted, not timed, is counted for all at once.
    const durationMs = Math.max(6000, 10 * bench.plan.roundMs)
    const commands = await Promise.all(
      taskPackages.map(async ({ name, entry }): Promise<Named> => {
        const idle = (child: Child) => child.call<number>('idle', durationMs)
        return { name, value: await withChild(bench, entry, idle).catch(String) }
      }),
    )
    const measure = 'an idle worker: commands/s'
    return { rows: [{ measure, target: { atMost: 0.5 }, unit: 'commands/s', ...split(commands) }] }
  },
}

export const delayExact: readonly Suite[] = [delayBytes, delayCommands]

function byBase(values: readonly Named[], name: string): Value {
  const value = found(values, name)
  const whole = found(values, base)
  if (typeof value === 'string') return value
  return typeof whole === 'string' ? whole : value / whole
}

function split(values: readonly Named[]): Pick<Row, 'ours' | 'others'> {
  return { ours: found(values, ours), others: values.filter(({ name }) => name !== ours) }
}

function found(values: readonly Named[], name: string): Value {
  return values.find((one) => one.name === name)?.value ?? 'not measured'
}

async function bytesATask(bench: Bench, entry: string): Promise<number> {
  await bench.redis.control.flushall()
  return withChild(bench, entry, async (child) => {
    const empty = await memoryOf(bench.redis)
    await child.call('run', { callers: 50, subjects: 1, operations: tasks, timed: false })
    return ((await memoryOf(bench.redis)) - empty) / tasks
  })
}

async function memoryOf({ control }: RedisServer): Promise<number> {
  const usages = (await control.keys('*')).map((key) => control.memory('USAGE', key, 'SAMPLES', 0))
  return (await Promise.all(usages)).reduce<number>((sum, bytes) => sum + (bytes ?? 0), 0)
}

async function withChild<T>(
  bench: Bench,
  entry: string,
  use: (child: Child) => Promise<T>,
): Promise<T> {
  const child = await startChild(entry, settingsOf(bench))
  try {
    return await use(child)
  } finally {
    await child.close()
  }
}
