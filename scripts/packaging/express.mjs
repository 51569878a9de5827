import { rateLimit } from '@sluice/express'
import express from 'express'

const app = express()
app.use(rateLimit())
app.get('/', (_req, res) => res.send('hello'))
const server = app.listen(0, '127.0.0.1', () => console.log(server.address().port))
