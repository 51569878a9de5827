import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { RedisServer } from '../../support/redis-server.ts'

test('D5: no closed worker keeps a process alive, nor what it could not tell the store', async () => {
  await using server = await RedisServer.start()
  const child = fileURLToPath(new URL('children/closed-worker.ts', import.meta.url))
  // Less than a visibility, and far less than the time for which ends are sent again.
  const ended = promisify(execFile)(
    process.execPath,
    ['--import', 'tsx', child, String(server.port)],
    { timeout: 25_000 },
  )
  expect(await ended).toEqual({ stdout: '', stderr: '' })
})
