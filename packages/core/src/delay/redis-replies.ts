import type {
  ClaimedTask,
  ExpiredTask,
  ScheduleReply,
  SettleTaskReply,
  StoredDeadTask,
  TaskClaimReply,
} from './store.ts'
import type { QueueStats, TaskError } from './task.ts'

/** One number of the reply of lua/delay/schedule.lua. */
export function decodeSchedule(reply: unknown): ScheduleReply {
  return oneOf({ '1': 'scheduled', '0': 'exists', '-1': 'full', '-2': 'too-late' }, reply)
}

/** One number of the reply of lua/delay/settle.lua. */
export function decodeSettle(reply: unknown): SettleTaskReply {
  return oneOf({ '1': 'settled', '0': 'stale', '2': 'gone' }, reply)
}

/** The reply of lua/delay/claim.lua; all its tasks have one receipt. */
export function decodeClaim(reply: unknown, receipt: string): TaskClaimReply {
  const flat = reply as readonly unknown[]
  const [nextMs, died] = flat as [number, number]
  const expired: ExpiredTask[] = []
  const tasks: ClaimedTask[] = []
  const firstTask = 2 + 3 * died
  for (let at = 2; at < firstTask; at += 3) {
    const [id, attempt, fence] = flat.slice(at, at + 3) as [string, number, number]
    expired.push({ id, attempt, fence })
  }
  for (let at = firstTask; at < flat.length; at += 6)
    tasks.push({
      id: flat[at] as string,
      payload: flat[at + 1] as string,
      attempt: flat[at + 2] as number,
      fence: flat[at + 3] as number,
      receipt,
      dueAt: flat[at + 4] as number,
      lateMs: flat[at + 5] as number,
    })
  return { tasks, expired, nextMs: nextMs < 0 ? undefined : nextMs }
}

/** The reply of lua/delay/list-dead.lua. */
export function decodeDead(reply: unknown): readonly StoredDeadTask[] {
  const flat = reply as readonly unknown[]
  const tasks: StoredDeadTask[] = []
  for (let at = 0; at < flat.length; at += 6)
    tasks.push({
      id: flat[at] as string,
      payload: flat[at + 1] as string,
      attempts: flat[at + 2] as number,
      dueAt: flat[at + 3] as number,
      diedAt: flat[at + 4] as number,
      error: JSON.parse(flat[at + 5] as string) as TaskError,
    })
  return tasks
}

/** The reply of lua/delay/stats.lua. */
export function decodeStats(reply: unknown): QueueStats {
  const [scheduled, due, processing, dead, oldestDueMs] = reply as [
    number,
    number,
    number,
    number,
    number,
  ]
  return { scheduled, due, processing, dead, oldestDueMs }
}

function oneOf<Word>(words: { readonly [number: string]: Word }, reply: unknown): Word {
  const word = words[String(reply)]
  if (word === undefined) throw new TypeError(`expected one of ${Object.keys(words).join(', ')}`)
  return word
}
