import { Redis } from 'ioredis'

/** Sends one command to 127.0.0.1:`port` on a connection of its own, so that no earlier fault can stand in its way. */
export async function command(
  port: number,
  name: string,
  ...args: readonly (string | number)[]
): Promise<unknown> {
  const client = new Redis({
    host: '127.0.0.1',
    port,
    lazyConnect: true,
    enableReadyCheck: false,
    retryStrategy: () => null,
  })
  let reason: unknown
  client.on('error', (error) => {
    reason = error // says more than the rejection does
  })
  try {
    await client.connect()
    return await client.call(name, ...args)
  } catch (error) {
    throw reason ?? error
  } finally {
    client.disconnect()
  }
}

/** `key:value` lines, as INFO and CLUSTER INFO send them. */
export function fields(info: unknown): Record<string, string> {
  const lines = String(info).split('\r\n')
  return Object.fromEntries(
    lines.filter((line) => line.includes(':')).map((line) => line.split(/:(.*)/s).slice(0, 2)),
  )
}
