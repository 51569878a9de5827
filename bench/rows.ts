import { type Results, ratios, type Sample } from './harness.ts'
import { median, quantile } from './statistics.ts'

/** One line of the table of the requirements. */
export interface Row {
  readonly measure: string
  readonly target: Target
  readonly unit: 'times' | 'ms' | 'bytes' | 'round trips' | 'commands' | 'commands/s' | 'waiters'
  readonly ours: Value
  /** The quartiles of our value over the rounds. */
  readonly spread?: readonly [number, number]
  readonly others: readonly Named[]
}

export type Target =
  | { readonly atLeast: number }
  | { readonly atMost: number }
  | { readonly exactly: number }

/** A number, or why there is none. */
export type Value = number | string

export interface Named {
  readonly name: string
  readonly value: Value
}

export interface Comparison<S extends Sample = Sample> {
  readonly measure: string
  readonly target: Target
  readonly base: string
  readonly ours: string
  readonly pick: (sample: S) => number
  /** Set where the base does part of what each of the others does, so that none can truly be faster. */
  readonly baseIsFastest?: true
}

/** Our contender against the base, and beside it every other contender of the suite against the same base. */
export function compare<S extends Sample>(results: Results<S>, comparison: Comparison<S>): Row {
  const { measure, target, base, ours, pick } = comparison
  const impossible = comparison.baseIsFastest && fasterThanPossible(results, comparison)
  const problem = (name: string) =>
    results.get(base)?.problem ?? results.get(name)?.problem ?? (impossible || undefined)
  const value = (name: string): Value =>
    problem(name) ?? median(ratios(results, [name, base], pick))
  const own = ratios(results, [ours, base], pick)
  const others = [...results.keys()].filter((name) => name !== base && name !== ours)
  return {
    measure,
    target,
    unit: 'times',
    ours: value(ours),
    spread: [quantile(own, 0.25), quantile(own, 0.75)],
    others: others.map((name) => ({ name, value: value(name) })),
  }
}

export type Measurement<S extends Sample> = Pick<
  Comparison<S>,
  'measure' | 'target' | 'ours' | 'pick'
> &
  Pick<Row, 'unit'>

/** What is measured by no base: our contender, and beside it every other. */
export function measure<S extends Sample>(
  results: Results<S>,
  { pick, ours, ...line }: Measurement<S>,
): Row {
  const values = (name: string) => (results.get(name)?.samples ?? []).map(pick)
  const value = (name: string): Value => results.get(name)?.problem ?? median(values(name))
  const own = values(ours)
  const others = [...results.keys()].filter((name) => name !== ours)
  return {
    ...line,
    ours: value(ours),
    spread: [quantile(own, 0.25), quantile(own, 0.75)],
    others: others.map((name) => ({ name, value: value(name) })),
  }
}

/** A base that loses to its own superset was disturbed, and then every ratio to it is wrong, the flattering ones too. */
function fasterThanPossible<S extends Sample>(
  results: Results<S>,
  { base, pick }: Comparison<S>,
): string | undefined {
  const winner = [...results.keys()].find(
    (name) => name !== base && median(ratios(results, [name, base], pick)) > 1.05,
  )
  return winner && `disturbed: ${winner} measured faster than ${base}, which does less`
}

export type Verdict = 'met' | 'not met' | 'invalid' | 'undecided'

/** A target between the quartiles is neither met nor missed: the rounds disagree about it. */
export function verdict({ ours, target, spread }: Row): Verdict {
  if (typeof ours === 'string' || Number.isNaN(ours)) return 'invalid'
  const reaches = (value: number) => meets(value, target)
  const met = reaches(ours)
  if (spread?.some((quartile) => reaches(quartile) !== met)) return 'undecided'
  return met ? 'met' : 'not met'
}

function meets(value: number, target: Target): boolean {
  if ('exactly' in target) return value === target.exactly
  return 'atLeast' in target ? value >= target.atLeast : value <= target.atMost
}
