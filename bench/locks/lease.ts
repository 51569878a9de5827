/** The lease of every contender; none of them ends while something is measured. */
export const LEASE_MS = 30_000
