import express from 'express'
import { serve } from './serve.ts'

const app = express()
app.get('/', (_req, res) => {
  res.send('ok')
})
await serve(app)
