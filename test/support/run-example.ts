import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'

export interface RunOptions {
  readonly args?: readonly string[]
  /** Added to the environment, which names no servers of its own. */
  readonly env?: Readonly<Record<string, string>>
}

export interface Ended {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** The repository's folder, as a path. */
export const ROOT: string = fileURLToPath(new URL('../..', import.meta.url))

/** Runs a program of examples/ in a process of its own, and waits for its end. */
export async function runExample(file: string, options: RunOptions = {}): Promise<Ended> {
  const child = startExample(file, options)
  const [stdout, stderr, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'close') as Promise<[number | null]>,
  ])
  return { code, stdout, stderr }
}

/** Starts it, for those that go on until told to stop. */
export function startExample(
  file: string,
  { args = [], env = {} }: RunOptions = {},
): ChildProcess & { stdout: NodeJS.ReadableStream; stderr: NodeJS.ReadableStream } {
  return spawn(process.execPath, ['--import', 'tsx', `examples/${file}`, ...args], {
    cwd: ROOT,
    env: { ...withoutServers(process.env), ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: 120_000, // a program that hangs is ended, and has no exit code
  })
}

function withoutServers(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const names = Object.keys(env).filter((name) => !/^(REDIS|DATABASE)_/.test(name))
  return Object.fromEntries(names.map((name) => [name, env[name]]))
}
