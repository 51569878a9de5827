// #region outbox
import { migrate, outbox } from '@sluice/postgres'
// #endregion
import { openDatabase } from './support/database.ts'

const pool = await openDatabase()
const mailServer = { isUp: false, sent: [] as string[] }

// #region outbox
await migrate(pool)

const mails = outbox(pool, {
  maxAttempts: 3,
  backoff: { baseMs: 10, maxMs: 50 }, // default: from a second to five minutes
  publish: async ({ id, type, payload, attempt }) => {
    console.log(`attempt ${attempt}: ${type}`)
    await send(id, payload) // a repeat has the same id: let the receiver know it
  },
})
// #endregion

async function send(id: string, payload: unknown): Promise<void> {
  if (!mailServer.isUp) throw new Error('the mail server is down')
  mailServer.sent.push(`${id}: ${JSON.stringify(payload)}`)
}

// #region add
/** The order and its mail: both, or neither. */
async function place(order: string): Promise<void> {
  const client = await pool.connect()
  try {
    await client.query('BEGIN')
    // … the order itself …
    await mails.add(client, { aggregate: order, type: 'order-placed', payload: { order } })
    await mails.add(client, { aggregate: order, type: 'order-paid', payload: { order } })
    await client.query('COMMIT')
  } catch (error) {
    await client.query('ROLLBACK')
    throw error
  } finally {
    client.release()
  }
}
// #endregion

await place(`order-${Date.now()}`)

// #region relay
const relay = mails.relay({ pollMs: 10 }) // in as many processes as you like
// #endregion

const dead = await firstDead()
console.log(`dead after ${dead.attempts} attempts: ${dead.error.message}`)
mailServer.isUp = true
// #region dead
for await (const { id } of mails.dead.list()) await mails.dead.redrive(id)
// #endregion
while (mailServer.sent.length < 2) await new Promise((resolve) => setTimeout(resolve, 10))
console.log(`${mailServer.sent.length} mails sent`)

// #region close
await relay.close()
await mails.cleanup({ olderThanMs: 7 * 86_400_000 })
// #endregion
await pool.close()

async function firstDead() {
  for (;;) {
    for await (const message of mails.dead.list()) return message
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}
