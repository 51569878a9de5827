import { connect } from '../redis-client.ts'
import { serveLoop } from './loop.ts'

const client = await connect()
serveLoop({ consume: (subject) => client.incr(`floor:${subject}`), allows: (count) => count > 0 })
