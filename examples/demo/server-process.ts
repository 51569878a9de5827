import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { Mishap } from './act.ts'

/** A web server in a process of its own, for a play that is not kind to it. */
export interface ServerProcess extends Disposable {
  readonly url: string
  /** SIGKILL: no handler runs, nothing is cleaned up. Resolves when it is dead. */
  kill(): Promise<void>
  /** SIGSTOP: not one instruction of it runs until it is woken. */
  freeze(): void
  wake(): void
}

const variable = 'DEMO_SETTINGS'

/** What {@link startServerProcess} was given, in the process that it has started. */
export function readSettings<Settings>(): Settings {
  return JSON.parse(process.env[variable] ?? '{}')
}

/** `program` tells its parent, as its first message, the port on which it listens. */
export async function startServerProcess(program: URL, settings: unknown): Promise<ServerProcess> {
  const child = fork(fileURLToPath(program), {
    env: { ...process.env, [variable]: JSON.stringify(settings) },
  })
  const dead = once(child, 'exit')
  const [port] = await Promise.race([once(child, 'message'), dead.then(() => [])])
  if (port === undefined) throw new Mishap('Another process of the demo could not start.')
  return {
    url: `http://127.0.0.1:${port}`,
    async kill() {
      child.kill('SIGKILL')
      await dead
    },
    freeze: () => void child.kill('SIGSTOP'),
    wake: () => void child.kill('SIGCONT'),
    [Symbol.dispose]: () => void child.kill('SIGKILL'),
  }
}
