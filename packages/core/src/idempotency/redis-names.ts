import { keyPart } from '../redis/keys.ts'
import { slotOf, slotTag } from '../redis/slots.ts'
import type { Subject } from './store.ts'

/** What things are called in Redis. */
export class RedisNames {
  readonly #prefix: string
  /** The index, outside of a Cluster. */
  readonly index: string

  constructor(prefix: string) {
    this.#prefix = `${prefix}:idempotency:`
    this.index = `${this.#prefix}open`
  }

  /** Of a record, and of its channel. */
  record({ scope, key }: Subject): string {
    return `${this.#prefix}{${scope === '' ? '' : keyPart(scope)}:${keyPart(key)}}`
  }

  indexOf(slot: number): string {
    return `${this.index}:{${slotTag(slot)}}`
  }

  /** The index in the hash slot of a record. */
  indexBeside(record: string): string {
    return this.indexOf(slotOf(record))
  }
}

/** What the index calls a record: the record's key may hold but hashes of them. */
export function member({ scope, key }: Subject): string {
  return JSON.stringify([scope, key])
}

export function subjectOf(name: string): Subject {
  const [scope, key] = JSON.parse(name) as [string, string]
  return { scope, key }
}
