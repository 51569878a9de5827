import { setTimeout as pause } from 'node:timers/promises'

/** What one contender did in one round. */
export interface Sample {
  readonly accepted: number
  readonly refused: number
  readonly failed: number
  readonly elapsedMs: number
  readonly p50Ms: number
  readonly p99Ms: number
  readonly redisCpuMs: number
}

export interface Contender<S extends Sample = Sample> {
  readonly name: string
  /** Every measured operation must end so, else the contender's numbers mean nothing. */
  readonly expect: 'accepted' | 'refused'
  /** Asks for every subject once, but for no more than so many. */
  prepare(atMost: number): Promise<void>
  round(durationMs: number): Promise<S>
  /** Uses one subject up, and says what is wrong if that was not refused at the limit. */
  check(): Promise<string | undefined>
  close(): Promise<void>
}

export interface Result<S extends Sample = Sample> {
  readonly name: string
  readonly samples: readonly S[]
  readonly problem?: string
}

export interface Plan {
  readonly rounds: number
  readonly roundMs: number
  readonly warmUpMs: number
  readonly prepareAtMost: number
  /** The limit that a check uses up; above what the rounds spend of any subject. */
  readonly limit: number
  /** A suite begins no further round after so long, once it has three. */
  readonly budgetMs: number
}

export type Results<S extends Sample = Sample> = ReadonlyMap<string, Result<S>>

export const rate = (sample: Sample): number =>
  (1000 * (sample.accepted + sample.refused)) / sample.elapsedMs

export const redisCpuUs = (sample: Sample): number =>
  (1000 * sample.redisCpuMs) / (sample.accepted + sample.refused)

export const p99Ms = (sample: Sample): number => sample.p99Ms

/**
 * Runs the contenders in turn, A B C A B C …, so that whatever the machine does to one round it does to its neighbours;
 * a contender that cannot start or gives wrong answers is reported, and the others go on.
 */
export async function interleave<S extends Sample = Sample>(
  starters: ReadonlyMap<string, () => Promise<Contender<S>>>,
  plan: Plan,
): Promise<Results<S>> {
  const entrants: Entrant<S>[] = []
  const ends = performance.now() + plan.budgetMs
  try {
    for (const [name, start] of starters) entrants.push(await enter(name, start, plan))
    for (let round = 0; round < plan.rounds; round += 1) {
      if (round >= 3 && performance.now() > ends) break
      for (const entrant of entrants) await run(entrant, plan)
    }
    for (const entrant of entrants) await conclude(entrant)
    return new Map(
      entrants.map(({ name, samples, problem }) => [name, result(name, samples, problem)]),
    )
  } finally {
    for (const { contender } of entrants) await contender?.close()
  }
}

/** Round by round, what `pick` says of one contender divided by what it says of the other. */
export function ratios<S extends Sample>(
  results: Results<S>,
  [name, base]: readonly [string, string],
  pick: (sample: S) => number,
): readonly number[] {
  const others = results.get(base)?.samples ?? []
  const own = results.get(name)?.samples ?? []
  return own.map((sample, round) => pick(sample) / pick(others[round] ?? sample))
}

interface Entrant<S extends Sample> {
  readonly name: string
  readonly samples: S[]
  contender: Contender<S> | undefined
  problem: string | undefined
}

async function enter<S extends Sample>(
  name: string,
  start: () => Promise<Contender<S>>,
  plan: Plan,
): Promise<Entrant<S>> {
  const entrant: Entrant<S> = { name, samples: [], contender: undefined, problem: undefined }
  await guard(entrant, async () => {
    entrant.contender = await start()
    await entrant.contender.prepare(plan.prepareAtMost)
    await entrant.contender.round(plan.warmUpMs)
  })
  return entrant
}

async function run<S extends Sample>(entrant: Entrant<S>, plan: Plan): Promise<void> {
  await guard(entrant, async () => {
    const { contender } = entrant
    if (contender === undefined) return
    const sample = await contender.round(plan.roundMs)
    entrant.samples.push(sample)
    const { accepted, refused, failed } = sample
    const wrong = failed + (contender.expect === 'accepted' ? refused : accepted)
    if (wrong > 0) entrant.problem = `${accepted} accepted, ${refused} refused, ${failed} failed`
  })
  await pause(50) // what the round left behind, sockets to close and garbage, is not the next one's load
}

async function conclude<S extends Sample>(entrant: Entrant<S>): Promise<void> {
  await guard(entrant, async () => {
    entrant.problem = await entrant.contender?.check()
  })
}

async function guard<S extends Sample>(
  entrant: Entrant<S>,
  step: () => Promise<void>,
): Promise<void> {
  if (entrant.problem !== undefined) return
  try {
    await step()
  } catch (error) {
    entrant.problem = error instanceof Error ? error.message : String(error)
  }
}

function result<S extends Sample>(
  name: string,
  samples: readonly S[],
  problem: string | undefined,
): Result<S> {
  return problem === undefined ? { name, samples } : { name, samples, problem }
}
