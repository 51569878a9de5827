import { parseList } from 'structured-headers'
import type { Reply, Site } from '../support/http.ts'

/** Sends a request to the application under test. */
export type Ask = Site['ask']

/** Everybody is one caller. */
export const key = (): string => 'caller'

export async function replies(count: number, ask: Ask): Promise<Reply[]> {
  const all: Reply[] = []
  while (all.length < count) all.push(await ask())
  return all
}

export async function bodies(count: number, ask: Ask): Promise<string[]> {
  return (await replies(count, ask)).map((reply) => reply.body)
}

export function list(reply: Reply | undefined, field: string) {
  return parseList(String(reply?.headers[field]))
}

export function fieldNames(reply: Reply | undefined): string[] {
  return reply?.rawHeaders.filter((_, index) => index % 2 === 0) ?? []
}

export function problem(...violated: string[]): string {
  return JSON.stringify({
    type: 'https://iana.org/assignments/http-problem-types#quota-exceeded',
    title: 'Request cannot be satisfied as assigned quota has been exceeded',
    status: 429,
    'violated-policies': violated,
  })
}
