import type { IncomingHttpHeaders } from 'node:http'
import { emit, type ProxyEvent } from '../events.ts'

/** How many hops in front of the application its framework believes: none, some, or whatever the client claims. */
export type ProxyTrust = 'none' | 'some' | 'every'

/**
 * Says, once a process, that addresses cannot be right: the request came through a proxy that nobody
 * trusts, so all its clients count as one; or every hop is trusted, so each client may choose its address.
 */
export function warnOfProxy(
  headers: IncomingHttpHeaders,
  trust: () => ProxyTrust,
  advice: string,
): void {
  if (warned || headers['x-forwarded-for'] === undefined) return
  const reason = reasonFor(trust)
  if (!reason) return
  warned = true
  process.emitWarning(`${explanations[reason]} ${advice}`, {
    type: 'SluiceWarning',
    code: 'SLUICE_UNTRUSTED_PROXY',
  })
  emit('sluice:rate-limit', () => ({ type: 'untrusted-proxy', reason }))
}

/** An application's own trust function may not know what to say of a hop that does not exist. */
function reasonFor(trust: () => ProxyTrust): ProxyEvent['reason'] | undefined {
  try {
    return reasons[trust()]
  } catch {
    return undefined
  }
}

let warned = false

const reasons: Readonly<Record<ProxyTrust, ProxyEvent['reason'] | undefined>> = {
  none: 'no-proxy-trusted',
  some: undefined,
  every: 'every-hop-trusted',
}

const explanations: Readonly<Record<ProxyEvent['reason'], string>> = {
  'no-proxy-trusted':
    'X-Forwarded-For arrives, but no proxy is trusted: all clients behind one proxy share one rate limit.',
  'every-hop-trusted':
    'X-Forwarded-For arrives and every hop is trusted: a client can choose its own address and so evade any rate limit.',
}
