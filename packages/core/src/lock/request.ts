import { ConfigurationError } from '../errors.ts'
import { checkOptions, integer, type Rule } from '../options.ts'
import type { AcquireOptions } from './locker.ts'
import type { LockKeys } from './store.ts'

/** What an acquire asks for, checked. */
interface CheckedAcquire {
  readonly waitMs: number
  readonly signal: AbortSignal | undefined
  /** As JSON; '' for nothing. */
  readonly metadata: string
}

/**
 * The key, or each of several once, in one order everywhere, so that no two callers wait for each other.
 *
 * @throws ConfigurationError (`configuration`) for what is no non-empty string, or no key at all.
 */
export function checkKeys(owner: string, key: unknown): LockKeys {
  if (isKey(key)) return [key]
  if (!Array.isArray(key)) throw new ConfigurationError(owner, 'key', key, EXPECTED)
  const wrong = key.findIndex((one) => !isKey(one))
  if (wrong >= 0) throw new ConfigurationError(owner, `key[${wrong}]`, key[wrong], A_KEY)
  const [first, ...others] = [...new Set(key as readonly string[])].sort()
  if (first === undefined) throw new ConfigurationError(owner, 'key', key, EXPECTED)
  return [first, ...others]
}

/** @throws ConfigurationError (`configuration`) for what is no non-empty string. */
export function checkKey(owner: string, key: unknown): string {
  if (!isKey(key)) throw new ConfigurationError(owner, 'key', key, A_KEY)
  return key
}

/** @throws ConfigurationError (`configuration`) */
export function checkAcquire(owner: string, options: AcquireOptions): CheckedAcquire {
  if (options === NO_OPTIONS) return PLAIN
  const {
    waitMs = 0,
    signal,
    metadata,
  } = checkOptions(owner, options, owner === 'tryAcquire' ? rulesOfTrying : rules)
  return { waitMs, signal, metadata: metadata === undefined ? '' : toJson(owner, metadata) }
}

function isKey(key: unknown): key is string {
  return typeof key === 'string' && key !== ''
}

const A_KEY = 'a non-empty string'
const EXPECTED = `${A_KEY}, or an array of such`

/** Stands for options that were left out, which need no look. */
export const NO_OPTIONS: AcquireOptions = {}

const PLAIN: CheckedAcquire = { waitMs: 0, signal: undefined, metadata: '' }

/** Longer timers fire at once. */
const LONGEST_WAIT_MS = 2_147_483_647

const rules: Readonly<Record<keyof AcquireOptions, Rule>> = {
  waitMs: integer(0, LONGEST_WAIT_MS, ' milliseconds'),
  signal: { expected: 'an AbortSignal', accepts: (value) => value instanceof AbortSignal },
  metadata: { expected: 'a small JSON value', accepts: () => true },
}

const { waitMs: _, ...rulesOfTrying } = rules

function toJson(owner: string, metadata: unknown): string {
  const json = asJson(metadata)
  if (json !== undefined && json.length <= MOST_METADATA) return json
  const expected = `a value of at most ${MOST_METADATA} characters as JSON`
  throw new ConfigurationError(owner, 'metadata', metadata, expected)
}

function asJson(metadata: unknown): string | undefined {
  try {
    return JSON.stringify(metadata)
  } catch {
    return undefined // a cycle, or a bigint
  }
}

const MOST_METADATA = 1024
