import type { AddressInfo } from 'node:net'
import type { Answers, Load } from '../http-apps/load-generator.ts'
import { startChild } from '../process/child.ts'
import { type Bench, settingsOf } from './suite.ts'

/** koa-ratelimit is a middleware only, so its keys come by HTTP. */
export async function askKoaRatelimit(
  bench: Bench,
  load: { readonly subjects: number; readonly amount: number },
): Promise<void> {
  const { amount } = load
  const settings = settingsOf(bench, { limit: amount })
  const app = await startChild('http-apps/koa-ratelimit.ts', settings)
  const generator = await startChild('http-apps/load-generator.ts', settings)
  try {
    const { port } = await app.call<AddressInfo>('address')
    const ask: Load = { port, connections: 1, ...load }
    const { accepted } = await generator.call<Answers>('run', ask)
    // what was not admitted is not stored, and a share of the bytes must not be counted as its
    if (accepted !== amount) throw new Error(`${accepted} of ${amount} requests were accepted`)
  } finally {
    await generator.close()
    await app.close()
  }
}
