import autocannon from 'autocannon'
import { answer } from '../process/answer.ts'
import { quantile } from '../statistics.ts'

/** One burst of requests; `amount` or `durationMs` ends it. */
export interface Load {
  readonly port: number
  readonly connections: number
  readonly subjects: number
  readonly durationMs?: number
  readonly amount?: number
  /** Orders with idempotency keys instead: one key a subject, or a fresh one each. */
  readonly keys?: { readonly prefix: string; readonly fresh: boolean }
}

export interface Answers {
  readonly accepted: number
  readonly refused: number
  readonly failed: number
  readonly elapsedMs: number
  readonly p50Ms: number
  readonly p99Ms: number
}

answer({ run })

async function run(load: Load): Promise<Answers> {
  const latencies: number[] = []
  const counts = { accepted: 0, refused: 0, failed: 0 }
  let client = 0
  const started = performance.now()
  let last = started
  await new Promise<void>((resolve, reject) => {
    const instance = autocannon(
      {
        url: `http://127.0.0.1:${load.port}/`,
        connections: load.connections,
        sampleInt: 20, // it looks only then whether it is time to stop
        ...(load.amount === undefined
          ? { duration: (load.durationMs ?? 0) / 1000 }
          : { amount: load.amount }),
        setupClient: (connection) => {
          connection.setRequests(share(load, client))
          client += 1
        },
      },
      (error) => (error ? reject(error) : resolve()),
    )
    instance.on('reqError', () => {
      counts.failed += 1
    })
    // autocannon's own histogram counts whole milliseconds, which is too coarse for a ratio of p99s
    instance.on('response', (_client, status, _bytes, latencyMs) => {
      last = performance.now()
      latencies.push(latencyMs)
      counts[outcome(status)] += 1
    })
  })
  return {
    ...counts,
    elapsedMs: last - started,
    p50Ms: quantile(latencies, 0.5),
    p99Ms: quantile(latencies, 0.99),
  }
}

/** Each connection has its own part of the subjects: all are visited, and no connection builds a thousand requests. */
function share({ subjects, connections, keys }: Load, client: number): autocannon.Request[] {
  if (keys?.fresh) return [freshOrders(keys.prefix)]
  const requests: autocannon.Request[] = []
  for (let subject = client % subjects; subject < subjects; subject += connections)
    requests.push(
      keys ? order(`${keys.prefix}-${subject}`) : { headers: { 'x-subject': `user-${subject}` } },
    )
  return requests
}

function order(key: string): autocannon.Request {
  const headers = { 'content-type': 'application/json', 'idempotency-key': key }
  return { method: 'POST', headers, body: '{"sku":"book","cents":2500}' }
}

function freshOrders(prefix: string): autocannon.Request {
  return {
    setupRequest: (request) => {
      freshKeys += 1
      return { ...request, ...order(`${prefix}-fresh-${freshKeys}`) }
    },
  }
}

/** Of all loads: a key is never fresh twice. */
let freshKeys = 0

function outcome(status: number): 'accepted' | 'refused' | 'failed' {
  if (status === 200) return 'accepted'
  return status === 429 ? 'refused' : 'failed'
}
