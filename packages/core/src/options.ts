import { ConfigurationError } from './errors.ts'

/** What one option may be: a predicate, and the words for it in a message. */
export interface Rule {
  readonly expected: string
  readonly accepts: (value: unknown) => boolean
  /** Whether leaving the option out is an error. */
  readonly required?: boolean
}

/** The longest duration accepted anywhere: ten years, leap days included. */
const MAX_DURATION_MS: number = 3_653 * 86_400_000

/** The largest limit, capacity, refill or drain. */
export const MAX_AMOUNT = 1_000_000_000

/** A whole number within bounds; rules out fractions, NaN, Infinity and numbers in strings. */
export function integer(min: number, max: number, unit = ''): Rule {
  return {
    expected: `an integer from ${min} to ${max}${unit}`,
    accepts: (value) => Number.isInteger(value) && Number(value) >= min && Number(value) <= max,
  }
}

/** A duration in whole milliseconds, from `min` to ten years. */
export function duration(min: number): Rule {
  return integer(min, MAX_DURATION_MS, ' milliseconds')
}

export const boolean: Rule = {
  expected: 'true or false',
  accepts: (value) => typeof value === 'boolean',
}

export const callback: Rule = {
  expected: 'a function',
  accepts: (value) => typeof value === 'function',
}

/** A value that satisfies at least one of the rules. */
export function either(...rules: readonly Rule[]): Rule {
  return {
    expected: rules.map((rule) => rule.expected).join(' or '),
    accepts: (value) => rules.some((rule) => rule.accepts(value)),
  }
}

/** One of a few literals. */
export function oneOf(...values: readonly unknown[]): Rule {
  return {
    expected: values
      .map((value) => (typeof value === 'string' ? `'${value}'` : String(value)))
      .join(' or '),
    accepts: (value) => values.includes(value),
  }
}

/** The same rule, for an option that must be given. */
export function required(rule: Rule): Rule {
  return { ...rule, required: true }
}

/**
 * Checks an options object once, at construction: every option known, every value as its rule says. Returns what was
 * checked and nothing else: each option was read once, wherever the object has it from (a getter, a class), and
 * what changes later changes nothing. `hints` say of names that people bring from elsewhere what they are called here.
 *
 * @throws ConfigurationError naming the option, the value and the expectation, with a suggestion for a name that is not known.
 */
export function checkOptions<Options>(
  owner: string,
  options: Options,
  rules: Readonly<Record<string, Rule>>,
  hints: Readonly<Record<string, string>> = {},
): Options {
  if (typeof options !== 'object' || options === null || Array.isArray(options))
    throw new ConfigurationError(owner, 'options', options, 'an object')
  for (const name of Object.keys(options))
    if (!Object.hasOwn(rules, name)) throw unknown(owner, name, options, rules, hints)
  const checked: Record<string, unknown> = {}
  for (const [name, rule] of Object.entries(rules)) {
    const value: unknown = Reflect.get(options, name)
    if (!suits(value, rule)) throw new ConfigurationError(owner, name, value, rule.expected)
    if (value !== undefined) checked[name] = value
  }
  return checked as Options
}

function suits(value: unknown, { required = false, accepts }: Rule): boolean {
  return value === undefined ? !required : accepts(value)
}

/** The options over their defaults; an option given as `undefined` counts as left out. */
export function withDefaults<Options extends object, Defaults extends Partial<Options>>(
  options: Options,
  defaults: Defaults,
): Defaulted<Options, Defaults> {
  const given = Object.entries(options).filter(([, value]) => value !== undefined)
  const merged: unknown = Object.assign({}, defaults, Object.fromEntries(given))
  return merged as Defaulted<Options, Defaults>
}

/** Options of which some have a default and so are never undefined. */
export type Defaulted<Options, Defaults> = Options & {
  readonly [Name in keyof Options & keyof Defaults]-?: Exclude<Options[Name], undefined>
}

function unknown(
  owner: string,
  name: string,
  options: object,
  rules: Readonly<Record<string, Rule>>,
  hints: Readonly<Record<string, string>>,
): ConfigurationError {
  const known = Object.keys(rules)
  const closest = nearest(name, known)
  const similar = closest ? `did you mean \`${closest}\`?` : `known are ${known.join(', ')}`
  const hint = Object.hasOwn(hints, name) ? hints[name] : similar
  return new ConfigurationError(
    owner,
    name,
    Reflect.get(options, name),
    `absent, since there is no such option (${hint})`,
  )
}

/** The known name a typo was most likely meant to be: few edits away, or one name inside the other. */
function nearest(name: string, known: readonly string[]): string | undefined {
  const scored = known
    .map((candidate) => ({
      candidate,
      edits: editDistance(name.toLowerCase(), candidate.toLowerCase()),
    }))
    .sort((a, b) => a.edits - b.edits)
  const best = scored[0]
  if (best && best.edits <= Math.max(2, Math.floor(name.length / 3))) return best.candidate
  return known.find((candidate) => candidate.toLowerCase().includes(name.toLowerCase()))
}

/** Levenshtein distance, one row at a time. */
function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, column) => column)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      const substituted = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1)
      next.push(Math.min(substituted, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1))
    }
    row = next
  }
  return row[b.length] ?? 0
}
