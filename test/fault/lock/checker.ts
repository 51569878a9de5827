import { type Call, callsOf, type Hold } from './calls.ts'
import { type History, of, type Stopped } from './history.ts'

export type Rule =
  | 'fence-not-rising'
  | 'accepted-fence-fell'
  | 'late-write-accepted'
  | 'overlap'
  | 'idle'
  | 'leftover'
  | 'no-ttl'
  | 'unanswered'
  | 'answered-late'
  | 'unexpected-answer'
  | 'not-aborted'
  | 'unhandled'

export interface Violation {
  readonly rule: Rule
  /** What was seen. */
  readonly seen: string
}

/** Nobody waits longer for a lost wake-up: the safety interval, and what a loaded machine adds. */
const IDLE_MS = 6500
/** A call may take so much longer than its limits on a machine that is busy with all of the rig. */
const LATE_MS = 4000

/** What is wrong with a history: by what callers, resource and store saw, whatever package it comes from. */
export function check(history: History): Violation[] {
  const all = callsOf(history)
  const keys = [...new Set(all.map(({ asked }) => asked.key))]
  return [
    ...keys.flatMap((key) => {
      const calls = all.filter(({ asked }) => asked.key === key)
      const holds = calls.flatMap((call) => call.hold ?? [])
      holds.sort((one, other) => one.fromMs - other.fromMs)
      return [
        ...fencesRise(holds),
        ...acceptedInOrder(history, key, holds),
        ...apart(history, holds),
        ...served(history, calls, holds),
      ]
    }),
    ...clean(history),
    ...all.filter(({ diedMs }) => diedMs === undefined).flatMap((call) => answered(history, call)),
    ...told(history),
  ]
}

function fencesRise(holds: readonly Hold[]): Violation[] {
  const found: Violation[] = []
  let last: Hold | undefined
  for (const hold of holds) {
    if (hold.fence === undefined) continue
    if (last?.fence === undefined || hold.fence > last.fence) last = hold
    else found.push({ rule: 'fence-not-rising', seen: `${name(hold)} after ${name(last)}` })
  }
  return found
}

/** By the fences that the resource saw, and by the order of the grants, which packages without fences have too. */
function acceptedInOrder(history: History, key: string, holds: readonly Hold[]): Violation[] {
  const order = new Map(holds.map((hold, index) => [hold.call, index]))
  const found: Violation[] = []
  let fence = Number.NEGATIVE_INFINITY
  let latest = 0
  for (const write of of(history, 'write')) {
    if (write.key !== key || !write.accepted) continue
    const index = order.get(write.call) ?? latest
    if ((write.fence ?? fence) < fence)
      found.push({ rule: 'accepted-fence-fell', seen: `${write.call}: ${write.fence} < ${fence}` })
    if (index < latest) {
      const seen = `${name(holds[index])} wrote after ${name(holds[latest])}`
      found.push({ rule: 'late-write-accepted', seen })
    }
    fence = Math.max(fence, write.fence ?? fence)
    latest = Math.max(latest, index)
  }
  return found
}

/** No two leases at once, but for those that stand on either side of what the store forgot. */
function apart(history: History, holds: readonly Hold[]): Violation[] {
  const forgot = of(history, 'forgot')
  let open: Hold[] = []
  return holds.flatMap((hold) => {
    open = open.filter(({ untilMs }) => untilMs > hold.fromMs)
    const others = open.filter(
      ({ fromMs }) => !forgot.some(({ atMs }) => fromMs <= atMs && atMs <= hold.fromMs),
    )
    open.push(hold)
    return others.map((other): Violation => {
      const sharedMs = Math.min(hold.untilMs, other.untilMs) - hold.fromMs
      const seen = `${name(other)} and ${name(hold)} for ${sharedMs.toFixed(1)} ms`
      return { rule: 'overlap', seen }
    })
  })
}

/** A key that nobody holds is not left lying while somebody waits for it. */
function served(history: History, calls: readonly Call[], holds: readonly Hold[]): Violation[] {
  const endMs = history.reduce((latest, { atMs }) => Math.max(latest, atMs), 0)
  return calls.flatMap(({ asked, answeredMs, diedMs }) => {
    const untilMs = answeredMs ?? diedMs ?? endMs
    const idleMs = longestFree(holds, asked.atMs, untilMs)
    if (idleMs <= IDLE_MS) return []
    const seen = `${asked.call} waited while ${asked.key} was free for ${idleMs.toFixed(0)} ms`
    return { rule: 'idle', seen }
  })
}

function longestFree(holds: readonly Hold[], fromMs: number, untilMs: number): number {
  if (untilMs - fromMs <= IDLE_MS) return 0
  let freeSinceMs = fromMs
  let longestMs = 0
  for (const hold of holds) {
    if (hold.fromMs > untilMs) break
    longestMs = Math.max(longestMs, hold.fromMs - freeSinceMs)
    freeSinceMs = Math.max(freeSinceMs, hold.freeMs)
  }
  return Math.max(longestMs, untilMs - freeSinceMs)
}

function clean(history: History): Violation[] {
  const keys = of(history, 'looked').flatMap((looked) => looked.keys)
  return [
    ...keys
      .filter(({ lock }) => lock)
      .map(({ name, ttlMs }) => violation('leftover', `${name} for ${ttlMs} ms more`)),
    ...keys.filter(({ ttlMs }) => ttlMs === -1).map(({ name }) => violation('no-ttl', name)),
  ]
}

/** Every acquire and every release of a process that lives is answered, the acquire in time. */
function answered(history: History, { asked, answeredMs, release }: Call): Violation[] {
  if (answeredMs === undefined) return [violation('unanswered', `the acquire of ${asked.call}`)]
  const stoppedMs = of(history, 'stopped')
    .filter(({ process }) => process === asked.process)
    .reduce((sum, stop) => sum + sharedMs(stop, asked.atMs, answeredMs), 0)
  const tookMs = answeredMs - asked.atMs - stoppedMs
  const seen = `${asked.call} took ${tookMs.toFixed(0)} ms with a limit of ${asked.waitMs} ms`
  return [
    ...(tookMs > asked.waitMs + LATE_MS ? [violation('answered-late', seen)] : []),
    ...(release === 'asked for' ? [violation('unanswered', `the release of ${asked.call}`)] : []),
  ]
}

function told(history: History): Violation[] {
  return [
    ...of(history, 'told')
      .filter(({ why }) => why.startsWith('unexpected'))
      .map(({ call, why }) => violation('unexpected-answer', `${call}: ${why}`)),
    ...of(history, 'woke')
      .filter(({ aborted }) => !aborted)
      .map(({ call }) => violation('not-aborted', `${call} woke when its lease had ended`)),
    ...of(history, 'unhandled').map(({ process, error }) =>
      violation('unhandled', `${process}: ${error}`),
    ),
  ]
}

function sharedMs(stop: Stopped, fromMs: number, untilMs: number): number {
  return Math.max(0, Math.min(stop.untilMs, untilMs) - Math.max(stop.atMs, fromMs))
}

function violation(rule: Rule, seen: string): Violation {
  return { rule, seen }
}

function name(hold: Hold | undefined): string {
  return hold?.fence === undefined ? `${hold?.call}` : `${hold.call} with fence ${hold.fence}`
}
