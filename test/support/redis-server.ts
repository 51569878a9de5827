import type { ChildProcess } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { command } from './command.ts'
import { freePort } from './free-port.ts'
import { end, LaunchError, launch } from './launch.ts'

export interface RestartOptions {
  /** Added to the arguments of the start, for this and later restarts. */
  readonly args?: readonly string[]
  /** `listening` returns while the server may still be loading its data. */
  readonly until?: 'ready' | 'listening'
}

const READY = 'Ready to accept connections'
const LISTENING = 'Server initialized'

/** A redis-server of the test's own, in its own process, port and folder. It saves nothing unless `args` say so. */
export class RedisServer implements AsyncDisposable {
  readonly port: number
  readonly #folder: string
  #args: readonly string[]
  #process: ChildProcess

  private constructor(
    port: number,
    folder: string,
    args: readonly string[],
    process: ChildProcess,
  ) {
    this.port = port
    this.#folder = folder
    this.#args = args
    this.#process = process
  }

  /** `args` as on the command line: `['--maxmemory', '2mb']`. */
  static async start(args: readonly string[] = []): Promise<RedisServer> {
    const folder = await mkdtemp(join(tmpdir(), 'sluice-redis-'))
    for (;;) {
      const port = await freePort()
      try {
        const process = await launch(commandLine(port, args), READY, folder)
        return new RedisServer(port, folder, args, process)
      } catch (error) {
        // Another process took the port, or the cluster bus port, between the look and the start.
        if (error instanceof LaunchError && error.log.includes('already in use')) continue
        await rm(folder, { recursive: true })
        throw error
      }
    }
  }

  get pid(): number {
    return this.#process.pid as number
  }

  get url(): string {
    return `redis://127.0.0.1:${this.port}`
  }

  /** Sends one command on a connection of its own. */
  command(name: string, ...args: readonly (string | number)[]): Promise<unknown> {
    return command(this.port, name, ...args)
  }

  /** Ends the server in good order (SIGTERM). */
  stop(): Promise<void> {
    return end(this.#process, 'SIGTERM')
  }

  /** Ends the server as a crash would (SIGKILL). */
  kill(): Promise<void> {
    return end(this.#process, 'SIGKILL')
  }

  /** The process stands still, its connections stay open (SIGSTOP). */
  pause(): void {
    this.#process.kill('SIGSTOP')
  }

  resume(): void {
    this.#process.kill('SIGCONT')
  }

  /** The same port again: empty, unless the server was started with `--appendonly yes`. Crashes first if it still runs. */
  async restart({ args = [], until = 'ready' }: RestartOptions = {}): Promise<void> {
    await this.kill()
    this.#args = [...this.#args, ...args]
    const line = until === 'ready' ? READY : LISTENING
    this.#process = await launch(commandLine(this.port, this.#args), line, this.#folder)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill()
    await rm(this.#folder, { recursive: true, force: true })
  }
}

function commandLine(port: number, args: readonly string[]): string[] {
  const base = ['--port', String(port), '--bind', '127.0.0.1', '--save', '']
  // Replicas of a test need not wait the five seconds that let several share one dump.
  return [...base, '--repl-diskless-sync-delay', '0', ...args]
}
