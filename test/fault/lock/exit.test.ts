import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { RedisServer } from '../../support/redis-server.ts'

/** Far less than the lease: a process that lived for as long as it renews would be killed. */
function run(child: string, ...args: readonly string[]) {
  const file = fileURLToPath(new URL(`children/${child}`, import.meta.url))
  return promisify(execFile)(process.execPath, ['--import', 'tsx', file, ...args], {
    timeout: 20_000,
  })
}

test('L6, L8: no renewal, no line, no cleanup and no closed store keeps a process alive', async () => {
  await using server = await RedisServer.start()
  const ended = await run('silent-holder.ts', String(server.port))
  expect(ended).toEqual({ stdout: '', stderr: '' })
})

test('L6: a wait keeps its process alive', async () => {
  const ended = await run('waiting-caller.ts')
  expect(ended).toEqual({ stdout: 'lock-timeout\nacquired\nlock-timeout\n', stderr: '' })
})
