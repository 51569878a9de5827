import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { Redis } from 'ioredis'
import { afterAll, expect, inject, test } from 'vitest'

const redis = new Redis(inject('redisPort'))
afterAll(() => redis.disconnect())

const PART = readFileSync(new URL('../../lua/rate-limit/portion.lua', import.meta.url), 'utf8')
const SCRIPT = `
local floor = math.floor
${PART}
local reply = {}
for i = 1, #ARGV, 3 do
  local a, b, c = tonumber(ARGV[i]), tonumber(ARGV[i + 1]), tonumber(ARGV[i + 2])
  reply[#reply + 1] = string.format('%.0f', portion(a, b, c))
end
return reply
`

test('R7: a portion in Lua is exact for every amount and duration a policy may have', async () => {
  const amount = fc.oneof(fc.nat(1_000_000_000), fc.nat(1000), fc.constant(1_000_000_000))
  const duration = fc.oneof(
    fc.integer({ min: 1, max: 3_653 * 86_400_000 }),
    fc.integer({ min: 1, max: 1000 }),
  )
  const triple = fc
    .tuple(amount, duration, fc.oneof(duration, amount.filter(Boolean)))
    .filter(([a, b, c]) => a <= c || b <= c) // as it is used: a part of one of the other two
  const property = fc.asyncProperty(
    fc.array(triple, { minLength: 100, maxLength: 200 }),
    async (triples) => {
      const exact = triples.map(([a, b, c]) => String((BigInt(a) * BigInt(b)) / BigInt(c)))
      expect(await redis.eval(SCRIPT, 0, ...triples.flat())).toEqual(exact)
    },
  )
  await fc.assert(property, { numRuns: 50 })
})
