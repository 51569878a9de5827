import { execFileSync } from 'node:child_process'
import { cpus, loadavg } from 'node:os'
import { redisVersion } from './redis.ts'

/** Taken before the run: a machine that is busy already makes the numbers worth little, and must show. */
export function environment(command: string): readonly (readonly [string, string])[] {
  const [processor] = cpus()
  return [
    ['Date', new Date().toISOString().slice(0, 10)],
    ['Revision', revision()],
    ['Node.js', process.version],
    ['redis-server', redisVersion()],
    ['CPU', `${processor?.model ?? 'unknown'}, ${cpus().length} cores`],
    ['Load average before the run', (loadavg()[0] ?? 0).toFixed(2)],
    ['Command', command],
  ]
}

/** Which code was measured: with somebody at work in the tree, the commit alone would not say. */
function revision(): string {
  try {
    const describe = ['describe', '--always', '--dirty=, with uncommitted changes']
    return execFileSync('git', describe, {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim()
  } catch {
    return 'unknown'
  }
}
