import { PGlite } from '@electric-sql/pglite'
import { createLocker, type Lease, LockTimeoutError } from '@sluice/core'

const database = await PGlite.create()
await database.exec(`
  CREATE TABLE accounts (id text PRIMARY KEY, balance int NOT NULL, last_fence bigint NOT NULL DEFAULT 0);
  INSERT INTO accounts (id, balance) VALUES ('ann', 100), ('bob', 0);
`)

// #region using
const locker = createLocker({ leaseMs: 10_000 }) // with a `store`, for all processes

async function deposit(account: string, amount: number): Promise<string> {
  return locker.using(`account:${account}`, { waitMs: 2000 }, async (lease) => {
    const balance = await readBalance(account)
    lease.signal.throwIfAborted() // the lease is about to end: better not to begin
    return writeBalance(account, balance + amount, lease)
  })
}

/** The lock keeps others out, most of the time; the fence refuses whoever comes too late, every time. */
async function writeBalance(account: string, balance: number, { fence }: Lease): Promise<string> {
  const { affectedRows } = await database.query(
    'UPDATE accounts SET balance = $1, last_fence = $2 WHERE id = $3 AND last_fence < $2',
    [balance, fence, account],
  )
  return affectedRows === 1 ? `${account} has ${balance}` : `refused: ${account} came too late`
}
// #endregion

async function readBalance(account: string): Promise<number> {
  const { rows } = await database.query<{ balance: number }>(
    'SELECT balance FROM accounts WHERE id = $1',
    [account],
  )
  return rows[0]?.balance ?? 0
}

// Ten at once: each reads what the one before has written.
console.log((await Promise.all(Array.from({ length: 10 }, () => deposit('ann', 1)))).at(-1))

// A worker that freezes between its read and its write, for longer than its lease.
const frozen = await createLocker({ leaseMs: 100 }).acquire('account:bob')
const stale = await readBalance('bob')
console.log(await deposit('bob', 5)) // waits until the lease of the frozen one is over
console.log(frozen.remainingMs() <= 0, await frozen.release())
console.log(await writeBalance('bob', stale + 7, frozen))
console.log(`bob has ${await readBalance('bob')}`)

// #region several
// Both or none, in one order everywhere: two transfers in opposite directions do not wait for each other for ever.
async function transfer(from: string, to: string, amount: number): Promise<void> {
  await using lease = await locker.acquire([`account:${from}`, `account:${to}`], { waitMs: 2000 })
  await writeBalance(from, (await readBalance(from)) - amount, lease)
  await writeBalance(to, (await readBalance(to)) + amount, lease)
}
// #endregion
await Promise.all([transfer('ann', 'bob', 10), transfer('bob', 'ann', 4)])
console.log(`ann has ${await readBalance('ann')}, bob has ${await readBalance('bob')}`)

// #region try
/** Every instance wakes up at midnight; one of them does the work, the others go back to sleep. */
async function nightly(instance: string): Promise<string> {
  await using lease = await locker.tryAcquire('nightly', { metadata: { instance } })
  if (!lease) return `${instance}: not my turn`
  const holder = await locker.inspect('nightly')
  return `${instance}: done, as ${JSON.stringify(holder?.metadata)}`
}
// #endregion
console.log(await Promise.all([nightly('one'), nightly('two')]))

const busy = await locker.acquire('account:ann')
const refusal = await locker
  .acquire('account:ann', { waitMs: 50 })
  .catch((error: unknown) => (error instanceof LockTimeoutError ? error.code : error))
console.log(refusal)
await busy.release()
await database.close()
