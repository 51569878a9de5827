import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { type Settings, settingsEnvironment } from '../settings.ts'
import { buildEntry } from './build.ts'

export interface Child {
  call<T>(command: string, argument?: unknown): Promise<T>
  close(): Promise<void>
}

interface Answer {
  readonly ready?: true
  readonly id?: number
  readonly value?: unknown
  readonly error?: string
}

interface Waiting {
  resolve(value: unknown): void
  reject(error: Error): void
}

/** Starts an entry below bench/ in a process of its own and resolves when it can be called. */
export async function startChild(entry: string, settings: Settings): Promise<Child> {
  const child = fork(await buildEntry(entry), {
    execArgv: [],
    serialization: 'advanced', // JSON would turn the NaN of a latency that nobody measured into 0
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    env: { ...process.env, NODE_ENV: 'production', ...settingsEnvironment(settings) },
  })
  const waiting = new Map<number, Waiting>()
  const ready = new Promise<unknown>((resolve, reject) => waiting.set(0, { resolve, reject }))
  settle(child, entry, waiting)
  await ready
  let id = 0
  return {
    call: <T>(command: string, argument?: unknown) =>
      new Promise<T>((resolve, reject) => {
        id += 1
        waiting.set(id, { resolve: (value) => resolve(value as T), reject })
        child.send({ id, command, argument })
      }),
    close: async () => {
      if (child.exitCode !== null || child.signalCode !== null) return
      child.disconnect()
      await once(child, 'exit')
    },
  }
}

function settle(child: ChildProcess, entry: string, waiting: Map<number, Waiting>): void {
  let complaint = ''
  child.stderr?.on('data', (chunk) => {
    complaint = `${complaint}${chunk}`.slice(-2000)
  })
  child.on('message', (message: Answer) => {
    const caller = waiting.get(message.id ?? 0)
    waiting.delete(message.id ?? 0)
    if (message.error === undefined) caller?.resolve(message.value)
    else caller?.reject(new Error(`${entry}: ${message.error}`))
  })
  child.on('exit', (code, signal) => {
    const error = new Error(`${entry} ended (${signal ?? code}): ${complaint.trim()}`)
    for (const caller of waiting.values()) caller.reject(error)
  })
}
