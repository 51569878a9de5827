// #region limiter
import { createRateLimiter, tokenBucket } from '@sluice/express'

const limiter = createRateLimiter({
  name: 'mail',
  policy: tokenBucket({ capacity: 10, refill: 5, refillMs: 1000 }),
})

async function send(customer: string, recipients: readonly string[]): Promise<boolean> {
  const decision = await limiter.consume(customer, { cost: recipients.length })
  if (decision.allowed) {
    console.log(`sent to ${recipients.length}, ${decision.remaining} left`)
    return true
  }
  // Infinity when the cost is above the capacity: no wait would help.
  console.log(`${recipients.length} are too many now, again in ${decision.retryAfterMs} ms`)
  return false
}
// #endregion

await send('ann', ['a@example.org', 'b@example.org', 'c@example.org'])
await send('ann', new Array<string>(8).fill('d@example.org')) // refused: costs nothing
await send('ann', new Array<string>(7).fill('d@example.org'))
await send('ann', new Array<string>(11).fill('d@example.org')) // never fits

await limiter.refund('ann', 5) // five bounced
console.log(`after the refund: ${(await limiter.peek('ann')).remaining} left`)
await limiter.reset('ann')
console.log(`after the reset: ${(await limiter.peek('ann')).remaining} left`)
