import { mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { RedisServer } from '../../support/redis-server.ts'
import { check } from './checker.ts'
import { type FaultName, goWrong } from './faults.ts'
import { type History, of } from './history.ts'
import { seeded, seedOfThisRun } from './random.ts'
import { Rig, type RigOptions } from './rig.ts'
import type { Worker } from './worker.ts'

const seed = seedOfThisRun()
const messages: readonly FaultName[] = [
  'cut',
  'lose request',
  'delay request',
  'lose reply',
  'delay',
  'stall',
]

test('L2, L5, L9: writes stay in order when processes stop past their leases and are killed', async () => {
  const processes: readonly FaultName[] = ['stop holder', 'stop any', 'kill holder', 'kill any']
  const history = await run({ leaseMs: 300, workMs: 30 }, processes, async (rig) => {
    const refused = () => rig.resource.writes.some(({ accepted }) => !accepted)
    for (let stops = 0; stops < 5 && !refused(); stops++) await rig.stop(await rig.holder(), 600)
  })
  await expectOrder(history)
  expect(of(history, 'write').some(({ accepted }) => !accepted)).toBe(true) // the fence was needed
})

test('L8, L9: so they do when leases are renewed', async () => {
  const history = await run({ leaseMs: 300, renew: true, workMs: 200 }, [
    'stop holder',
    'stop any',
    'cut',
    'delay',
  ])
  await expectOrder(history)
})

test('L5: a lease whose reply was slow ends no later for its holder than for the store', async () => {
  const history = await run({ callers: 1, leaseMs: 300, workMs: 300 }, [], async (rig) => {
    rig.workers[0]?.link?.delayReplies(150)
    for (let turn = 0; turn < 7; turn++) await rig.holder()
  })
  await expectOrder(history)
})

test('L3, L4, L6: lost, late and cut messages leave no lock behind, and everybody is served or told', async () => {
  const history = await run({ leaseMs: 10_000 }, messages)
  await expectOrder(history)
})

test('L3: a claim that arrives after what undoes it leaves no lock behind', async () => {
  await using server = await RedisServer.start()
  await using rig = await Rig.start(server, { processes: 1, callers: 1 })
  const [worker] = rig.workers as [Worker]
  const delayed = worker.link?.delayRequest(300, 1, 'EVAL') // a new server has no script for EVALSHA
  worker.begin()
  await delayed?.happened
  const history = await rig.finish()
  await expectOrder(history)
  expect(of(history, 'granted')).toEqual([])
  expect(of(history, 'looked')[0]?.keys).not.toEqual([]) // it did arrive
})

test('L2, L3, L5, L6, L9: all that at once, and a server that stands still', async () => {
  const history = await run({ leaseMs: 400, renew: true, workMs: 30 }, [
    ...messages,
    'freeze',
    'stop holder',
    'kill holder',
  ])
  await expectOrder(history)
})

/** A failure says how to run it again, and where its history lies. */
async function expectOrder(history: History): Promise<void> {
  const violations = check(history)
  if (violations.length === 0) return
  const file = join(await mkdtemp(join(tmpdir(), 'sluice-history-')), 'history.jsonl')
  await writeFile(file, history.map((event) => JSON.stringify(event)).join('\n'))
  expect(violations, `SEED=${seed}, history in ${file}`).toEqual([])
}

/** What happens to processes that take turns while things go wrong, until all calls have ended. */
async function run(
  options: RigOptions,
  faults: readonly FaultName[],
  andThen?: (rig: Rig) => Promise<void>,
): Promise<History> {
  await using server = await RedisServer.start()
  await using rig = await Rig.start(server, { ...options, seed })
  const random = seeded(seed)
  rig.begin()
  await rig.holder()
  await goWrong({ rig, server, random, leaseMs: options.leaseMs ?? 0 }, faults, 2000)
  await andThen?.(rig)
  return await rig.finish()
}
