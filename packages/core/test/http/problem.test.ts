import { describe, expect, it } from 'vitest'
import { problemOf } from '../../src/http/problem.ts'
import { fixedWindow } from '../../src/index.ts'
import { decisionOf } from './decision.ts'

const burst = fixedWindow({ name: 'burst', limit: 1, windowMs: 1000 })
const daily = fixedWindow({ name: 'say "daily"', limit: 1, windowMs: 86_400_000 })
const refused = { allowed: false, retryAfterMs: 10 }

describe('the problem document', () => {
  it('R22: names the policies that refused, and no others', () => {
    const problem = problemOf(decisionOf([burst, daily], [{}, refused]))
    expect(problem).toMatchObject({ status: 429, contentType: 'application/problem+json' })
    expect(problem.body).toBe(
      '{"type":"https://iana.org/assignments/http-problem-types#quota-exceeded",' +
        '"title":"Request cannot be satisfied as assigned quota has been exceeded",' +
        '"status":429,"violated-policies":["say \\"daily\\""]}',
    )
  })

  it('R30: of a closed store is a 503 that accuses no policy', () => {
    const problem = problemOf(decisionOf([burst], [refused], { source: 'closed' }))
    expect(problem.status).toBe(503)
    expect(JSON.parse(problem.body)).toEqual({
      type: 'https://iana.org/assignments/http-problem-types#temporary-reduced-capacity',
      title: 'Request cannot be satisfied due to temporary server capacity constraints',
      status: 503,
    })
  })

  it('has as many bytes as characters, so that its length needs no counting', () => {
    for (const source of ['store', 'closed'] as const) {
      const { body } = problemOf(decisionOf([burst, daily], [refused, refused], { source }))
      expect(Buffer.byteLength(body)).toBe(body.length)
    }
  })
})
