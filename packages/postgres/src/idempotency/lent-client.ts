import type { PostgresClient } from '../pool.ts'

/**
 * A client in a transaction, as it is lent to an application: it cannot end the transaction, and is good for nothing
 * once that has ended, when its connection may be somebody else's.
 */
export class LentClient {
  readonly client: PostgresClient
  readonly takeBack: () => void

  constructor(client: PostgresClient) {
    const { proxy, revoke } = Proxy.revocable(client, { get })
    this.client = proxy
    this.takeBack = revoke
  }
}

function get(client: PostgresClient, name: string | symbol): unknown {
  if (name === 'release') return refuseRelease
  const value: unknown = Reflect.get(client, name, client)
  if (typeof value !== 'function') return value
  if (name !== 'query') return value.bind(client)
  return (...args: unknown[]) => {
    refuseControl(args[0])
    return Reflect.apply(value, client, args)
  }
}

function refuseRelease(): never {
  throw new Error('the client is released when the response is complete')
}

/** Savepoints are fine, and so is SET TRANSACTION. */
function refuseControl(query: unknown): void {
  const text = typeof query === 'string' ? query : Reflect.get(Object(query), 'text')
  if (typeof text === 'string' && control.test(text))
    throw new Error(
      `the transaction is committed with the response: no ${text.trim().slice(0, 40)}`,
    )
}

const control =
  /^\s*(begin|start\s+transaction|commit|end|abort|prepare\s+transaction|rollback(?!\s+((work|transaction)\s+)?to\b))\b/i
