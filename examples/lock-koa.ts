// #region app
import { setTimeout as sleep } from 'node:timers/promises'
import { lock } from '@sluice/koa'
import Koa from 'koa'
// #endregion
import { tryOut } from './support/try-out.ts'

// #region app
let running = 0
let most = 0

const app = new Koa()
app.use(lock((ctx) => `account:${ctx.get('X-Account')}`, { waitMs: 2000 }))
app.use(async (ctx) => {
  most = Math.max(most, ++running)
  await sleep(20, undefined, { signal: ctx.state.lease?.signal }) // stops when the lease is lost
  running--
  ctx.body = { running: most }
})
// #endregion

await tryOut(app.callback(), async (ask) => {
  const asAnn: RequestInit = { method: 'POST', headers: { 'X-Account': 'ann' } }
  const answers = await Promise.all(Array.from({ length: 20 }, () => ask('/transfers', asAnn)))
  console.log(`${answers.length} transfers, at most ${most} at a time`)
})
