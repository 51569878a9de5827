import type { Answer } from './child.ts'

interface Request {
  readonly id: number
  readonly request: unknown
}

/** In the file that a `Child` runs: says that it is ready, and answers each request of the parent. */
export function answerParent<T>(work: (request: T) => unknown): void {
  process.on('message', ({ id, request }: Request) => {
    void answer(id, () => work(request as T)).then((message) => process.send?.(message))
  })
  process.on('disconnect', () => process.exit())
  process.send?.({ id: 0, value: 'ready' } satisfies Answer)
}

async function answer(id: number, work: () => unknown): Promise<Answer> {
  try {
    return { id, value: await work() }
  } catch (error) {
    return { id, error: String(error instanceof Error ? error.stack : error) }
  }
}
