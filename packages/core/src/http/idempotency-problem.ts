import type { ProblemDocument } from './problem.ts'

/** What a refusal is called: `urn:sluice:problem:<code>`. */
export type ProblemCode =
  | 'idempotency-key-missing'
  | 'idempotency-key-invalid'
  | 'idempotency-body-too-deep'
  | 'idempotency-key-reused'
  | 'idempotency-key-scope'
  | 'idempotency-in-progress'
  | 'idempotency-outcome-unknown'
  | 'idempotency-result-not-replayable'
  | 'idempotency-replay-refused'
  | 'idempotency-not-committed'
  | 'store-unavailable'

/** The problem document of a refusal. */
export function idempotencyProblem(code: ProblemCode, detail?: string): ProblemDocument {
  const { status, title, detail: usual } = problems[code]
  const type = `urn:sluice:problem:${code}`
  return {
    status,
    contentType: 'application/problem+json',
    body: ascii(JSON.stringify({ type, title, status, detail: detail ?? usual })),
  }
}

function ascii(json: string): string {
  return json.replace(
    /[^\x20-\x7e]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

interface Kind {
  readonly status: number
  /** The same for all problems of a kind. */
  readonly title: string
  /** Where there is nothing more to say of this one. */
  readonly detail: string
}

const problems: Readonly<Record<ProblemCode, Kind>> = {
  'idempotency-key-missing': {
    status: 400,
    title: 'Idempotency key is missing',
    detail:
      'This operation needs an idempotency key: a value that is new for each operation, and the same in retries.',
  },
  'idempotency-key-invalid': {
    status: 400,
    title: 'Idempotency key is invalid',
    detail: 'An idempotency key is a String of 1 to 255 printable ASCII characters, sent once.',
  },
  'idempotency-body-too-deep': {
    status: 400,
    title: 'The body is nested too deeply',
    detail: 'Bodies of requests with an idempotency key may be nested 500 levels deep.',
  },
  'idempotency-key-reused': {
    status: 422,
    title: 'Idempotency key is already used',
    detail:
      'This key was used for a request with other content. Use a new key for a new operation.',
  },
  'idempotency-key-scope': {
    status: 422,
    title: 'Idempotency key is already used by another caller',
    detail:
      'This key was used with other credentials. If both are the same caller (a renewed token, say), ' +
      'the server has to set `scope` to what identifies a caller.',
  },
  'idempotency-in-progress': {
    status: 409,
    title: 'A request is outstanding for this idempotency key',
    detail:
      'The first request with this key is still being processed. Try again later for its result.',
  },
  'idempotency-outcome-unknown': {
    status: 409,
    title: 'The outcome of the first request is unknown',
    detail:
      'The first request with this key was interrupted, and nobody knows yet whether it took effect.',
  },
  'idempotency-result-not-replayable': {
    status: 409,
    title: 'The result cannot be sent again',
    detail:
      'The first request with this key is done, but its result was not kept. It was not run again.',
  },
  'idempotency-replay-refused': {
    status: 403,
    title: 'The result may not be sent to this caller',
    detail:
      'The first request with this key is done. This caller is not authorized to see its result.',
  },
  'idempotency-not-committed': {
    status: 503,
    title: 'The operation could not be committed',
    detail:
      'Retry with the same key: it runs again if nothing has happened, else it gets the result.',
  },
  'store-unavailable': {
    status: 503,
    title: 'Idempotency cannot be ensured at the moment',
    detail: 'Nothing was run. Try again later with the same key.',
  },
}
