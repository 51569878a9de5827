import { memoryStore } from '@sluice/core'
import { rateLimitStoreContract } from './rate-limit-store.ts'

let now = 0

rateLimitStoreContract({
  name: 'the memory store',
  makeStore: () => memoryStore({ now: () => now }),
  advance: (ms) => {
    now += ms
  },
})
