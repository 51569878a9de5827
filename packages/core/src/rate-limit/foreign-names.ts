/**
 * What options of other packages are called here, or where they belong: for messages about options that are not
 * known. The names are those of express-rate-limit, koa-ratelimit and rate-limiter-flexible.
 */
type Hints = Readonly<Record<string, string>>

/** For a policy of a window. */
export const windowHints: Hints = {
  max: 'it is called `limit`',
  points: 'it is called `limit`',
  duration: 'it is called `windowMs`, in milliseconds',
}

/** For a policy of a bucket, whose period is called `refillMs` or `drainMs`. */
export function bucketHints(periodMs: string): Hints {
  return {
    limit: 'it is called `capacity`',
    max: 'it is called `capacity`',
    points: 'it is called `capacity`',
    windowMs: `it is called \`${periodMs}\``,
    duration: `it is called \`${periodMs}\`, in milliseconds`,
  }
}

/** For what takes policies: the options of one policy, and a policy itself. */
export const policyHints: Hints = {
  ...Object.fromEntries(
    ['limit', 'max', 'windowMs', 'duration', 'points', 'capacity', 'refill', 'refillMs'].map(
      (name) => [
        name,
        'say how much and how fast in `policy`: slidingWindow({ limit, windowMs }), tokenBucket({ … }), …',
      ],
    ),
  ),
  algorithm: 'a policy goes into `policy`: { policy: fixedWindow({ … }) }',
}

/** For `rateLimit()`. */
export const middlewareHints: Hints = {
  ...policyHints,
  keyGenerator: 'it is called `key`',
  id: 'it is called `key`',
  handler: 'it is called `onLimited`',
  message: 'answer in your own way with `onLimited`',
  errorMessage: 'answer in your own way with `onLimited`',
  standardHeaders: "say which fields in `headers`; 'draft-11' is the default",
  legacyHeaders: "say `headers: 'legacy'` to have those; without it there are none",
  disableHeader: 'say `headers: false`',
  skipSuccessfulRequests: 'give the cost back with `refund`',
  skipFailedRequests: 'give the cost back with `refund`',
  passOnStoreError: "say `onStoreFailure: 'open'`",
  throw: 'answer in your own way with `onLimited`',
  db: 'it is called `store`: redisStore(client)',
  driver: 'the store decides: memoryStore() or redisStore(client)',
}
