import { afterAll, beforeAll, expect, test } from 'vitest'
import { RedisServer } from '../../support/redis-server.ts'
import { Owner } from './owner.ts'

const PROCESSES = 4
const COPIES = 250

let server: RedisServer
let owners: readonly Owner[]

beforeAll(async () => {
  server = await RedisServer.start()
  owners = await Promise.all(
    Array.from({ length: PROCESSES }, () => Owner.start(server.port, { timeoutMs: 10_000 })),
  )
})
afterAll(async () => {
  for (const owner of owners) await owner[Symbol.asyncDispose]()
  await server[Symbol.asyncDispose]()
})

test('I1, I15: 1,000 copies at once over several processes run once, and all get its response if they wait', async () => {
  const answers = await copies({ key: 'waiting', fingerprint: 'x', waitMs: 20_000 })
  expect(await server.command('GET', 'runs:waiting')).toBe('1')
  const [body] = answers.filter((answer) => typeof answer === 'string')
  const replay = { state: 'replay', response: { status: 201, headers: [], body } }
  const replays = answers.filter((answer) => answer !== body)
  expect(replays).toHaveLength(PROCESSES * COPIES - 1)
  for (const answer of replays) expect(answer).toEqual(replay)
})

test('I1: 1,000 copies at once over several processes run once, and the others are told why not', async () => {
  const answers = await copies({ key: 'impatient', fingerprint: 'x' })
  expect(await server.command('GET', 'runs:impatient')).toBe('1')
  const states = answers.map((answer) => (answer as { state?: string }).state)
  expect(states.filter((state) => state === undefined)).toHaveLength(1)
  expect(states.filter((state) => state === 'in-progress' || state === 'replay')).toHaveLength(
    PROCESSES * COPIES - 1,
  )
})

async function copies(request: { key: string; fingerprint: string; waitMs?: number }) {
  return (await Promise.all(owners.map((owner) => owner.copies(COPIES, request)))).flat()
}
