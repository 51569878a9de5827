import type { PostgresClient, PostgresPool } from './pool.ts'

/**
 * A client of the pool. While it is checked out nobody else listens to its errors, and a connection that breaks between
 * two statements would end the process; the next statement tells of it.
 */
export async function checkOut(pool: PostgresPool): Promise<PostgresClient> {
  const client = await pool.connect()
  client.on?.('error', ignore)
  return client
}

/** Gives it back; `broken`: closes the connection, and what was not committed is rolled back. */
export function giveBack(client: PostgresClient, broken: boolean): void {
  client.release(broken)
  // One that is closed may still have something to say.
  if (!broken) client.off?.('error', ignore)
}

function ignore(): void {}
