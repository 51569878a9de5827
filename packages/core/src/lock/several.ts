import { Renewal } from '../resilience/renewal.ts'
import type { Taken, Wait } from './caller.ts'
import { cleanUp } from './cleanup.ts'
import type { Lines } from './lines.ts'
import type { LockKeys } from './store.ts'
import { takeOnce } from './taking.ts'

export async function takeSeveral(_lines: Lines, keys: LockKeys, wait: Wait): Promise<Taken> {
  void Renewal
  void cleanUp
  return takeOnce(wait, keys)
}
