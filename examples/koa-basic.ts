// #region app
import { rateLimit, tokenBucket } from '@sluice/koa'
import Koa from 'koa'
// #endregion
import { tryOut } from './support/try-out.ts'

// #region app
const app = new Koa()
app.use(rateLimit({ policy: tokenBucket({ capacity: 3, refill: 1, refillMs: 1000 }) }))
app.use((ctx) => {
  ctx.body = `Hello, requests left: ${ctx.state.rateLimit?.remaining}`
})
// #endregion

await tryOut(app.callback(), async (ask) => {
  console.log(await ask('/'))
  console.log(await ask('/'))
  console.log(await ask('/'))
  console.log(await ask('/')) // 429, as application/problem+json
})
