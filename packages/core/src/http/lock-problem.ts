import type { ProblemDocument } from './problem.ts'

/** What a refusal is called: `urn:sluice:problem:<code>`. */
export type LockProblemCode = 'lock-contended' | 'store-unavailable'

/** The problem document of a refused lock. */
export function lockProblem(code: LockProblemCode, status: number): ProblemDocument {
  const type = `urn:sluice:problem:${code}`
  const { title, detail } = texts[code]
  return {
    status,
    contentType: 'application/problem+json',
    body: JSON.stringify({ type, title, status, detail }),
  }
}

const texts: Readonly<
  Record<LockProblemCode, { readonly title: string; readonly detail: string }>
> = {
  'lock-contended': {
    title: 'The resource is locked by another request',
    detail: 'Nothing was run. Try again when the other request is done.',
  },
  'store-unavailable': {
    title: 'The lock cannot be taken at the moment',
    detail: 'Nothing was run. Try again later.',
  },
}
