import express from 'express'
import { connect } from '../redis-client.ts'
import { serve } from './serve.ts'

const client = await connect()
const app = express()
app.use(async (req, _res, next) => {
  await client.incr(`floor:${req.get('x-subject')}`)
  next()
})
app.get('/', (_req, res) => {
  res.send('ok')
})
await serve(app)
