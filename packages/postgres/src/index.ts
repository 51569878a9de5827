export type { Backoff } from '@sluice/core'
export { type CleanupOptions, cleanup } from './cleanup.ts'
export { guardFence } from './fence/guard-fence.ts'
export { type MigrationSqlOptions, migrate, migrationSql } from './migrate.ts'
export type { DeadMessage, NewMessage, OutboxMessage } from './outbox/message.ts'
export {
  type Outbox,
  type OutboxOptions,
  outbox,
  type Publish,
  type QueueLike,
  type RelayOptions,
} from './outbox/outbox.ts'
export type { Relay } from './outbox/relay.ts'
export { type PgliteLike, pglitePool } from './pglite-pool.ts'
export type { PostgresClient, PostgresPool, Queryable, Row } from './pool.ts'
export { postgresStore } from './postgres-store.ts'
export type { SchemaOptions } from './statements.ts'
