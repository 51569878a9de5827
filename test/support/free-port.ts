import { once } from 'node:events'
import { createServer } from 'node:net'

/**
 * A free port below the ephemeral range. A port from `listen(0)` could be taken by any outgoing connection while the
 * test's server is down, and a client that retries on it could even connect to itself. Cluster bus ports (+10,000)
 * stay below that range too.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = 10_000 + Math.floor(Math.random() * 10_000)
    if (await canListen(port)) return port
  }
}

async function canListen(port: number): Promise<boolean> {
  const probe = createServer()
  try {
    probe.listen(port, '127.0.0.1')
    await once(probe, 'listening')
  } catch {
    return false
  }
  probe.close()
  await once(probe, 'close')
  return true
}
