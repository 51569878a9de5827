/** What the masters said so far. */
export interface Votes<T> {
  /** By the master's place among all. */
  readonly answers: ReadonlyMap<number, T>
  /** How many can still answer. */
  readonly open: number
}

/**
 * Resolves with what `decide` makes of the votes, as soon as it is no longer undefined: a slow minority delays
 * nobody. Rejects when all have answered or failed, and nothing is decided.
 */
export function decision<T, Outcome>(
  asked: readonly Promise<T>[],
  decide: (votes: Votes<T>) => Outcome | undefined,
): Promise<Outcome> {
  const answers = new Map<number, T>()
  const failures: unknown[] = []
  return new Promise((resolve, reject) => {
    const count = () => {
      const open = asked.length - answers.size - failures.length
      const outcome = decide({ answers, open })
      if (outcome !== undefined) resolve(outcome)
      else if (open === 0)
        reject(new AggregateError(failures, 'no majority of the masters answered'))
    }
    for (const [index, answer] of asked.entries())
      answer.then(
        (value) => {
          answers.set(index, value)
          count()
        },
        (error) => {
          failures.push(error)
          count()
        },
      )
  })
}

export function majorityOf(masters: number): number {
  return Math.floor(masters / 2) + 1
}

/** What a majority of all masters answered: true if so many did, false if so many can no longer. */
export function majorityOfAll(masters: number, { answers }: Votes<boolean>): boolean | undefined {
  const yes = [...answers.values()].filter(Boolean).length
  const unknown = masters - answers.size
  if (yes >= majorityOf(masters)) return true
  return yes + unknown < majorityOf(masters) ? false : undefined
}
