import type { Blockade } from '../locks/block.ts'
import { type Child, startChild } from '../process/child.ts'
import type { Named, Row } from '../rows.ts'
import { lockPackages } from './locks.ts'
import { type Bench, type Suite, settingsOf } from './suite.ts'

const callers = 50
const ours = 'Sluice'
const key = 'kept'

export const lockWaiting: Suite = {
  name: 'lock-waiting',
  conditions: `${callers} callers of one process that wait for a lock which another process keeps, once they have come to rest: commands a second`,
  run: async (bench) => {
    const values: Named[] = []
    for (const { name, entry } of lockPackages)
      values.push({ name, value: await waiting(bench, entry).catch(String) })
    return { rows: [row(values)] }
  },
}

function row(values: readonly Named[]): Row {
  const own = values.find(({ name }) => name === ours)
  return {
    measure: `${callers} blocked waiters of one process: commands/s`,
    target: { atMost: 2 },
    unit: 'commands/s',
    ours: own?.value ?? 'not measured',
    others: values.filter((one) => one !== own),
  }
}

async function waiting(bench: Bench, entry: string): Promise<number> {
  await bench.redis.control.flushall()
  const children: Child[] = []
  try {
    const holder = await startChild(entry, settingsOf(bench))
    const waiter = await startChild(entry, settingsOf(bench))
    children.push(holder, waiter)
    await holder.call('hold', key)
    const durationMs = 8 * bench.plan.roundMs // longer than the safety interval, whose share must not be missed
    return await waiter.call<number>('block', { key, callers, durationMs } satisfies Blockade)
  } finally {
    for (const child of children) await child.close()
  }
}
