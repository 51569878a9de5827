import type { AddressInfo } from 'node:net'
import type { Load } from '../http-apps/load-generator.ts'
import { startChild } from '../process/child.ts'
import { type Bench, settingsOf } from './suite.ts'

/** koa-ratelimit is a middleware only, so its keys come by HTTP. */
export async function askKoaRatelimit(
  bench: Bench,
  load: Pick<Load, 'subjects' | 'amount'>,
): Promise<void> {
  const settings = settingsOf(bench)
  const app = await startChild('http-apps/koa-ratelimit.ts', settings)
  const generator = await startChild('http-apps/load-generator.ts', settings)
  try {
    const { port } = await app.call<AddressInfo>('address')
    await generator.call('run', { port, connections: 1, ...load })
  } finally {
    await generator.close()
    await app.close()
  }
}
