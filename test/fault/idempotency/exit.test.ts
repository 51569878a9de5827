import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { RedisServer } from '../../support/redis-server.ts'

test('I12: no renewal and no closed store keeps a process alive', async () => {
  await using server = await RedisServer.start()
  const child = fileURLToPath(new URL('children/silent-owner.ts', import.meta.url))
  // Far less than the lease: a process that lived for as long as it renews would be killed.
  const ended = promisify(execFile)(
    process.execPath,
    ['--import', 'tsx', child, String(server.port)],
    { timeout: 20_000 },
  )
  expect(await ended).toEqual({ stdout: '', stderr: '' })
})
