import { type Backend, backends } from '../idempotency/stores.ts'
import { type Framework, frameworks, type Guard, guards } from './apps.ts'

/** Every framework on every store, as `describe.each` takes it. */
export const places: readonly (readonly [string, Framework, Backend])[] = frameworks.flatMap(
  (framework) =>
    backends.map(
      (backend) => [`${framework.name} on ${backend.name}`, framework, backend] as const,
    ),
)

/** Every way to lock a handler in every place. */
export const matrix: readonly (readonly [string, Guard, Framework, Backend])[] = places.flatMap(
  ([place, framework, backend]) =>
    guards.map((guard) => [`${guard} in ${place}`, guard, framework, backend] as const),
)
