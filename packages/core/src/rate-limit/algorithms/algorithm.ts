import type { Policy } from '../policy.ts'

/**
 * One way to count, in memory. Each has a twin of the same name in `lua/rate-limit/` with the same
 * functions and the same arithmetic, so that the same trace gives the same decisions.
 *
 * All functions but `charge` and `refund` leave what they are given unchanged; those may change it in place,
 * since a new object at every call is what a garbage collector pays most for.
 */
export interface CountingAlgorithm<State> {
  /** What is stored, brought to the present; a fresh state for a subject that was never seen or is forgotten. */
  read(stored: State | undefined, policy: Policy, now: number): State
  /** Whole units that fit now. May exceed the limit (leaky bucket: the call in service waits for nothing). */
  available(state: State, policy: Policy, now: number): number
  /** Milliseconds until `cost` (at most the limit, more than available) fits. */
  waitMs(state: State, policy: Policy, now: number, cost: number): number
  /** Milliseconds until nothing is spent any more; 0 when nothing is. */
  resetMs(state: State, policy: Policy, now: number): number
  /** Milliseconds for which what was just charged or refunded is kept, should the policy change; left out: `resetMs`. */
  keepMs?(state: State, policy: Policy, now: number): number
  /** Milliseconds until the turn of a call whose `cost` was just charged (0: of a call that would come now). */
  delayMs(state: State, policy: Policy, now: number, cost: number): number
  /** Spends `cost`, which fits, and returns what to store. */
  charge(state: State, policy: Policy, now: number, cost: number): State
  /** What to store after a refusal; left out: what was stored before it. */
  refused?(state: State): State
  /** Gives back up to `cost` and returns what to store; undefined when nothing is spent any more. */
  refund(state: State, policy: Policy, now: number, cost: number): State | undefined
}
