// #region app
import { fixedWindow, rateLimit } from '@sluice/express'
import express from 'express'
// #endregion
import { tryOut } from './support/try-out.ts'

// #region app
const app = express()
// As many proxies as are yours. Never `true`: every client could then choose its own address.
app.set('trust proxy', 1) // Koa: app.proxy = true; app.maxIpsCount = 1
app.use(rateLimit({ policy: fixedWindow({ limit: 2, windowMs: 60_000 }) }))
// #endregion
app.get('/', (req, res) => {
  res.send(`you are ${req.ip}`)
})

// What the proxy sends: it appends the address it saw to whatever the client has claimed.
const from = (field: string): RequestInit => ({ headers: { 'X-Forwarded-For': field } })

await tryOut(app, async (ask) => {
  console.log(await ask('/', from('203.0.113.7')))
  console.log(await ask('/', from('198.51.100.1, 203.0.113.7'))) // a claim changes nothing
  await ask('/', from('198.51.100.2, 203.0.113.7')) // so the third is refused
  console.log(await ask('/', from('203.0.113.8'))) // another client, another quota
})
