// #region test
import assert from 'node:assert/strict'
import { createRateLimiter, fixedWindow, memoryStore } from '@sluice/express'

// A test needs no server and no waiting: the memory store decides as Redis does, on your clock.
let now = 0
const limiter = createRateLimiter({
  policy: fixedWindow({ limit: 2, windowMs: 60_000 }),
  store: memoryStore({ now: () => now }),
})

assert.equal((await limiter.consume('ann')).allowed, true)
assert.equal((await limiter.consume('ann')).allowed, true)

const refused = await limiter.consume('ann')
assert.equal(refused.allowed, false)
assert.equal(refused.retryAfterMs, 60_000)

now += refused.retryAfterMs - 1
assert.equal((await limiter.consume('ann')).allowed, false)
now += 1
assert.equal((await limiter.consume('ann')).allowed, true)
// #endregion
console.log('A minute went by in no time, and the limiter kept to it.')
