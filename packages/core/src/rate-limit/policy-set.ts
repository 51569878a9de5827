import { ConfigurationError } from '../errors.ts'
import type { Algorithm, Policy } from './policy.ts'

/**
 * Checks a limiter's policies: at least one, each made by a policy function, names all different. The array that it
 * gives is its own: the application's may change.
 *
 * @throws ConfigurationError (`configuration`)
 */
export function checkPolicies(owner: string, given: unknown): readonly Policy[] {
  const policies: readonly unknown[] = Object.freeze([given].flat())
  if (policies.length === 0 || !policies.every(isPolicy))
    throw new ConfigurationError(
      owner,
      'policy',
      given,
      'one or more policies made by fixedWindow(), slidingWindow(), slidingLog(), tokenBucket() or leakyBucket()',
    )
  const names = new Set(policies.map((policy) => policy.name))
  if (names.size < policies.length)
    throw new ConfigurationError(
      owner,
      'policy',
      policies.map((policy) => policy.name).join(', '),
      'policies of different names (give each a `name`)',
    )
  return policies
}

const algorithms: ReadonlySet<unknown> = new Set<Algorithm>([
  'fixed-window',
  'sliding-window',
  'sliding-log',
  'token-bucket',
  'leaky-bucket',
])

function isPolicy(value: unknown): value is Policy {
  return (
    typeof value === 'object' &&
    value !== null &&
    Object.isFrozen(value) &&
    algorithms.has(Reflect.get(value, 'algorithm'))
  )
}
