import Koa from 'koa'
import { serve } from './serve.ts'

const app = new Koa()
app.use((ctx) => {
  ctx.body = 'ok'
})
await serve(app.callback())
