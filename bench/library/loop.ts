import { answer } from '../process/answer.ts'
import { quantile } from '../statistics.ts'

/** A limiter as its library gives it: the loop adds no promise of its own to what is measured. */
export interface Limiter<Outcome> {
  consume(subject: string): Promise<Outcome>
  allows(outcome: Outcome): boolean
  /** Whether a rejection is this library's way to refuse. */
  isRefusal?(error: unknown): boolean
}

export interface Work {
  readonly callers: number
  readonly subjects: number
  /** One of the two ends the work. */
  readonly durationMs?: number
  readonly operations?: number
  /** False where reading the clock twice takes longer than the operation. */
  readonly timed: boolean
}

export interface Done {
  readonly accepted: number
  readonly refused: number
  readonly failed: number
  readonly elapsedMs: number
  readonly p50Ms: number
  readonly p99Ms: number
}

/** Lets the parent drive the limiter. */
export function serveLoop<Outcome>(limiter: Limiter<Outcome>): void {
  answer({ run: loopOf(limiter) })
}

/** Concurrent callers, each of which waits for its answer before it asks again. */
export function loopOf<Outcome>(limiter: Limiter<Outcome>): (work: Work) => Promise<Done> {
  const walk = subjectWalk()
  return (work) => run(limiter, work, walk(work.subjects))
}

async function run<Outcome>(
  limiter: Limiter<Outcome>,
  work: Work,
  next: () => string,
): Promise<Done> {
  const tally: Tally = { accepted: 0, refused: 0, failed: 0, latencies: [] }
  const started = performance.now()
  const task = { next, over: ending(work, started), timed: work.timed }
  await Promise.all(Array.from({ length: work.callers }, () => caller(limiter, task, tally)))
  const elapsedMs = performance.now() - started
  const { latencies, ...counts } = tally
  const p50Ms = quantile(latencies, 0.5)
  return { ...counts, elapsedMs, p50Ms, p99Ms: quantile(latencies, 0.99) }
}

interface Tally {
  accepted: number
  refused: number
  failed: number
  readonly latencies: number[]
}

interface Task {
  readonly next: () => string
  readonly over: () => boolean
  readonly timed: boolean
}

async function caller<Outcome>(
  limiter: Limiter<Outcome>,
  { next, over, timed }: Task,
  tally: Tally,
): Promise<void> {
  while (!over()) {
    const asked = timed ? performance.now() : 0
    try {
      const outcome = await limiter.consume(next())
      tally[limiter.allows(outcome) ? 'accepted' : 'refused'] += 1
    } catch (error) {
      tally[limiter.isRefusal?.(error) ? 'refused' : 'failed'] += 1
    }
    if (timed) tally.latencies.push(performance.now() - asked)
  }
}

/** Steps of a prime length visit every subject, far from the last one, in the same order for every contender. */
function subjectWalk(): (among: number) => () => string {
  const names: string[] = []
  let cursor = 0
  return (among) => {
    while (names.length < among) names.push(`user-${names.length}`)
    return () => {
      cursor = (cursor + 7919) % among
      return names[cursor] ?? ''
    }
  }
}

function ending({ durationMs = 0, operations }: Work, started: number): () => boolean {
  let calls = 0
  if (operations !== undefined) return () => ++calls > operations
  let late = false
  return () => {
    calls += 1
    if (calls % 16 === 0) late = performance.now() >= started + durationMs
    return late
  }
}
