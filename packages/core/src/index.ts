export type { Backoff, ExponentialBackoff } from './delay/backoff.ts'
export type {
  DelayEvent,
  SettlingDelayedEvent,
  SettlingRetriedEvent,
  StaleRunEvent,
  TaskAckedEvent,
  TaskClaimedEvent,
  TaskDiedEvent,
  TaskLostEvent,
  TaskRetriedEvent,
  TaskReturnedEvent,
} from './delay/event.ts'
export {
  createDelayQueue,
  type DeadPage,
  type DeadTasks,
  type DelayQueue,
  type DelayQueueOptions,
  type ScheduleTime,
} from './delay/queue.ts'
export type {
  ClaimedTask,
  DelayStore,
  Due,
  ExpiredTask,
  Hints,
  NewTask,
  RunEnd,
  ScheduleReply,
  SettleTaskReply,
  StoredDeadTask,
  TaskClaim,
  TaskClaimReply,
} from './delay/store.ts'
export type { DeadTask, QueueStats, Task, TaskError, TaskHandler } from './delay/task.ts'
export type { CloseOptions, Worker, WorkOptions } from './delay/worker.ts'
export * from './errors.ts'
export {
  hashKey,
  type OutboxEvent,
  type ProxyEvent,
  type RateLimitEvent,
  type RefundFailedEvent,
  type SluiceChannels,
  type StoreEvent,
  subscribe,
} from './events.ts'
export { addressKey } from './http/client-address.ts'
export { type HeaderFormat, rateLimitFieldNames } from './http/fields.ts'
export type { LockMetadata } from './http/lock-options.ts'
export type { RequestIdempotency } from './http/protected-run.ts'
export type { TransactionClient } from './http/request-transaction.ts'
export type {
  ClaimWithdrawnEvent,
  IdempotencyEvent,
  LateSettlementEvent,
  LeaseLostEvent,
  SettlementDelayedEvent,
  SettlementRetriedEvent,
  UnprotectedEvent,
} from './idempotency/event.ts'
export {
  type Begun,
  createIdempotency,
  type Execution,
  type ExecutionTransaction,
  type Idempotency,
  type IdempotencyOptions,
  type IdempotencyRequest,
} from './idempotency/idempotency.ts'
export type { IdempotencyRecord, StoredResponse, Tombstone } from './idempotency/record.ts'
export type {
  Claim,
  ClaimReply,
  IdempotencyStore,
  Lifetimes,
  Settlement,
  SettleReply,
  StoreTransaction,
  Subject,
  UnknownPage,
} from './idempotency/store.ts'
export type { Watch } from './idempotency/wakeups.ts'
export type {
  LockAcquiredEvent,
  LockCleanedUpEvent,
  LockEvent,
  LockLostEvent,
  LockReleaseDelayedEvent,
  LockReleasedEvent,
  LockTimedOutEvent,
  LockUnprotectedEvent,
} from './lock/event.ts'
export type { Lease } from './lock/lease.ts'
export {
  type AcquireOptions,
  createLocker,
  type Locker,
  type LockerOptions,
  type LockState,
} from './lock/locker.ts'
export type {
  AcquireReply,
  LockClaim,
  LockGrant,
  LockHolder,
  LockKeys,
  LockStore,
  PassReply,
  Place,
} from './lock/store.ts'
export { type MemoryStoreOptions, memoryStore } from './memory-store.ts'
export type { Decision, DecisionSource, PolicyState } from './rate-limit/decision.ts'
export { type FlexibleOptions, fromFlexible } from './rate-limit/flexible.ts'
export type { FlexibleLimiter } from './rate-limit/flexible-counter.ts'
export {
  type ConsumeOptions,
  createRateLimiter,
  type OnStoreFailure,
  type RateLimiter,
  type RateLimiterOptions,
} from './rate-limit/limiter.ts'
export {
  type Algorithm,
  fixedWindow,
  type LeakyBucketOptions,
  leakyBucket,
  type Policy,
  slidingLog,
  slidingWindow,
  type TokenBucketOptions,
  tokenBucket,
  type WindowOptions,
} from './rate-limit/policy.ts'
export type { Quota, RateLimitStore, Standing } from './rate-limit/store.ts'
export type { IoredisLike, NodeRedisLike, RedisClient } from './redis/client.ts'
export type { Listening } from './redis/messages.ts'
export { type RedisStoreOptions, redisStore } from './redis-store.ts'
export type { Store } from './store.ts'
