import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { fixedWindow, memoryStore, tokenBucket } from '@sluice/express'
import { describe, expect, it } from 'vitest'
import type { Site } from '../support/http.ts'
import { type Framework, frameworks } from './frameworks.ts'

const [reference, ...others] = frameworks
if (!reference) throw new Error('no frameworks')

describe('R28: the same sequence of requests', () => {
  it.each(others)(
    'gives in $name, byte for byte, what it gives in Express 4',
    async (framework) => {
      expect(await conversation(framework)).toEqual(await conversation(reference))
    },
  )

  it('ends in refusals that say this', async () => {
    const [, , got, head] = await conversation(reference)
    const fields = (burst: number) =>
      'HTTP/1.1 429 Too Many Requests\r\n' +
      'RateLimit-Policy: "burst \\"a\\"";q=5;w=5, "route";q=2;w=60\r\n' +
      `RateLimit: "burst \\"a\\"";r=${burst};t=1, "route";r=0;t=60\r\n` +
      'X-RateLimit-Limit: 2\r\nX-RateLimit-Remaining: 0\r\nX-RateLimit-Reset: 60\r\n' +
      'Retry-After: 60\r\n' +
      `Content-Type: application/problem+json\r\nContent-Length: ${body.length}\r\n` +
      'Connection: close\r\n\r\n'
    expect(got).toBe(fields(2) + body)
    expect(head).toBe(fields(1))
  })
})

const body =
  '{"type":"https://iana.org/assignments/http-problem-types#quota-exceeded",' +
  '"title":"Request cannot be satisfied as assigned quota has been exceeded",' +
  '"status":429,"violated-policies":["route"]}'

/** Two requests that pass, then a refused GET, HEAD and POST, with two limits; time stands still. */
async function conversation(framework: Framework): Promise<string[]> {
  const store = memoryStore({ now: () => 1_000_000 })
  const app = framework.app()
  const headers = ['draft-11', 'legacy-seconds-left'] as const
  const burst = tokenBucket({ name: 'burst "a"', capacity: 5, refill: 1, refillMs: 1000 })
  const route = fixedWindow({ name: 'route', limit: 2, windowMs: 60_000 })
  app.limit({
    name: 'burst',
    policy: burst,
    store,
    headers,
    key: ({ method }) => `all ${method.length > 0}`,
  })
  app.limit({ name: 'route', policy: route, store, headers })
  app.answer(() => 'welcome')
  await using site = await app.serve()
  const answers: string[] = []
  for (const method of ['GET', 'GET', 'GET', 'HEAD', 'POST']) answers.push(await raw(site, method))
  return answers
}

/** The whole answer as it is on the wire, but for the date. */
async function raw(site: Site, method: string): Promise<string> {
  const { hostname, port } = new URL(site.url)
  const socket = connect(Number(port), hostname)
  socket.write(`${method} / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\nConnection: close\r\n\r\n`)
  return (await text(socket)).replace(/^Date: .*\r\n/m, '')
}
