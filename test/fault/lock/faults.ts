import { setTimeout as sleep } from 'node:timers/promises'
import type { RedisServer } from '../../support/redis-server.ts'
import type { Rig } from './rig.ts'
import type { Worker } from './worker.ts'

export interface Conditions {
  readonly rig: Rig
  readonly server: RedisServer
  readonly random: () => number
  readonly leaseMs: number
}

/** One thing that goes wrong; resolves when it is over. */
type Fault = (conditions: Conditions) => Promise<void>

export type FaultName = keyof typeof faults

/** What can happen to processes, messages and the server. */
const faults = {
  /** The holder stands still past its lease, while it works. */
  'stop holder': async ({ rig, random, leaseMs }) => {
    await rig.stop(await rig.holder(), leaseMs * (1.1 + random()))
  },
  'stop any': async ({ rig, random, leaseMs }) => {
    await rig.stop(anyWorker(rig, random), leaseMs * 1.5 * random())
  },
  'kill holder': async ({ rig }) => rig.replace(await rig.holder()),
  'kill any': async ({ rig, random }) => rig.replace(anyWorker(rig, random)),
  cut: async ({ rig, random }) => anyWorker(rig, random).link?.cut(),
  'lose request': async ({ rig, random }) => {
    await within(
      500,
      anyWorker(rig, random).link?.dropRequest(1 + Math.floor(random() * 3)).happened,
    )
  },
  /** A claim that arrives after what undoes it must not stay. */
  'delay request': async ({ rig, random }) => {
    const { link } = anyWorker(rig, random)
    const nth = 1 + Math.floor(random() * 3)
    await within(500, link?.delayRequest(50 + random() * 250, nth, 'EVALSHA').happened)
  },
  'lose reply': async ({ rig, random }) => {
    await within(500, anyWorker(rig, random).link?.dropReply(1 + Math.floor(random() * 3)).happened)
  },
  /** Replies come late, some of them too late. */
  delay: async ({ rig, random }) => {
    const { link } = anyWorker(rig, random)
    link?.delayReplies(50 + random() * 800)
    await sleep(400)
    link?.delayReplies(0)
  },
  /** Replies stop coming, and then come all at once. */
  stall: async ({ rig, random }) => {
    const { link } = anyWorker(rig, random)
    link?.stall()
    await sleep(200 + random() * 600)
    link?.resume()
  },
  /** The server stands still. */
  freeze: async ({ server, random }) => {
    server.pause()
    await sleep(100 + random() * 700)
    server.resume()
  },
} satisfies Record<string, Fault>

/** Lets one thing after the other go wrong, chosen from `names`, for so long. */
export async function goWrong(
  conditions: Conditions,
  names: readonly FaultName[],
  durationMs: number,
): Promise<void> {
  const { random } = conditions
  const ends = performance.now() + durationMs
  while (names.length > 0 && performance.now() < ends) {
    await sleep(random() * 100)
    const name = names[Math.floor(random() * names.length)]
    if (name) await (faults[name] as Fault)(conditions)
  }
}

function anyWorker({ workers }: Rig, random: () => number): Worker {
  return workers[Math.floor(random() * workers.length)] as Worker
}

/** A loss that was ordered of a link over which nothing is sent must not hold the others up. */
async function within(ms: number, happened: Promise<void> | undefined): Promise<void> {
  await Promise.race([happened, sleep(ms)])
}
