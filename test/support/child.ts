import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { end } from './launch.ts'

export interface ChildOptions {
  /** The child finds them in `process.argv.slice(2)`. */
  readonly args?: readonly string[]
  /** The child's wall clock is set off by so much; its monotonic clock is not. */
  readonly clockOffsetMs?: number
  /** The file is JavaScript already, see `compileChild`; then its clock is not set off. */
  readonly compiled?: boolean
}

/** What the child's `answerParent` sends back. */
export type Answer = { readonly id: number } & (
  | { readonly value: unknown }
  | { readonly error: string }
)

const ROOT = new URL('../..', import.meta.url)
const WALL_CLOCK = new URL('wall-clock.ts', import.meta.url)

/** A TypeScript file running in a Node.js process of its own; the file calls `answerParent` when it is ready. */
export class Child implements AsyncDisposable {
  readonly #process: ChildProcess
  readonly #waiting = new Map<number, (answer: Answer) => void>()
  #lastId = 0

  private constructor(process: ChildProcess) {
    this.#process = process
    process.on('message', (answer: Answer) => {
      this.#waiting.get(answer.id)?.(answer)
      this.#waiting.delete(answer.id)
    })
    process.on('exit', (code, signal) => {
      for (const [id, settle] of this.#waiting)
        settle({ id, error: `the child ended (${signal ?? code})` })
      this.#waiting.clear()
    })
  }

  /** Starts `file` and waits for its `answerParent`. */
  static async start(
    file: URL,
    { args = [], clockOffsetMs = 0, compiled = false }: ChildOptions = {},
  ): Promise<Child> {
    const process = fork(fileURLToPath(file), [...args], {
      cwd: fileURLToPath(ROOT), // where Node.js looks for tsx
      execArgv: compiled ? [] : ['--import', 'tsx', '--import', WALL_CLOCK.href],
      env: { ...globalThis.process.env, CLOCK_OFFSET_MS: String(clockOffsetMs) },
      serialization: 'advanced', // keeps Infinity, dates and bytes
    })
    const child = new Child(process)
    await Promise.race([once(process, 'message'), child.#early()])
    return child
  }

  get pid(): number {
    return this.#process.pid as number
  }

  /** Has the child work on `request`, and returns what it answers; rejects with what it throws. */
  async ask<T>(request?: unknown): Promise<T> {
    const id = ++this.#lastId
    const answer = new Promise<Answer>((resolve) => this.#waiting.set(id, resolve))
    this.#process.send({ id, request })
    const settled = await answer
    if ('error' in settled) throw new Error(settled.error)
    return settled.value as T
  }

  /** Ends the child as a crash would (SIGKILL). */
  kill(): Promise<void> {
    return end(this.#process, 'SIGKILL')
  }

  pause(): void {
    this.#process.kill('SIGSTOP')
  }

  resume(): void {
    this.#process.kill('SIGCONT')
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill()
  }

  async #early(): Promise<never> {
    const [code, signal] = await once(this.#process, 'exit')
    throw new Error(`the child ended before it was ready (${signal ?? code})`)
  }
}
