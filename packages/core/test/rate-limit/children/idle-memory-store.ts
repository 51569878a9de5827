import { createRateLimiter, slidingWindow } from '../../../src/index.ts'

// Ends by itself as soon as nothing is left to do: the window lasts an hour, the process must not.
const limiter = createRateLimiter({ policy: slidingWindow({ limit: 1, windowMs: 3_600_000 }) })
await limiter.consume('a')
const { allowed } = await limiter.consume('a')
process.stdout.write(allowed ? 'allowed\n' : 'refused\n')
