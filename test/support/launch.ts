import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'

/** The binary under test; `REDIS_SERVER` names another one, such as a valkey-server. */
const BINARY = process.env['REDIS_SERVER'] ?? 'redis-server'

export class LaunchError extends Error {
  override readonly name = 'LaunchError'
  readonly log: string

  constructor(log: string) {
    super(`${BINARY} stopped before it was ready:\n${log}`)
    this.log = log
  }
}

/** Starts the server binary in `folder` and waits for the log line that contains `readyLine`. */
export async function launch(
  args: readonly string[],
  readyLine: string,
  folder: string,
): Promise<ChildProcess> {
  const server = spawn(BINARY, [...args], {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  await once(server, 'spawn').catch((cause: unknown) => {
    throw new Error(`no ${BINARY} on the PATH: run the tests with \`pnpm test\``, { cause })
  })
  dieWithThisProcess(server, folder)
  let log = ''
  server.stderr.on('data', (chunk) => {
    log += chunk
  })
  for await (const line of createInterface(server.stdout)) {
    if (line.includes(readyLine)) {
      server.stdout.resume()
      return server
    }
    log += `${line}\n`
  }
  throw new LaunchError(log)
}

/** Ends `server`, paused or not, and waits until it is gone. */
export async function end(server: ChildProcess, signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
  if (server.exitCode !== null || server.signalCode !== null) return
  const gone = once(server, 'exit')
  server.kill(signal)
  server.kill('SIGCONT')
  await gone
}

/** A shell waits for the pipe from this process to close, however this process ends, and then clears up behind it. */
function dieWithThisProcess(server: ChildProcess, folder: string): void {
  const clearUp = 'read -r _; kill -9 "$0" 2>/dev/null; rm -rf "$1"'
  const watch = spawn('sh', ['-c', clearUp, String(server.pid), folder], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  })
  watch.unref()
  server.once('exit', () => watch.kill('SIGKILL'))
}
