import { Redis } from 'ioredis'

let sent = 0
let counting = false

/** How many commands all clients of this process have sent since the first call. What scripts call is not among them. */
export function commandsSent(): number {
  if (!counting) count()
  return sent
}

/** From the first use on only: where speed is measured and nobody asks, nothing is in the way. */
function count(): void {
  counting = true
  const send = Redis.prototype.sendCommand
  Redis.prototype.sendCommand = function (...words) {
    sent += 1
    return send.apply(this, words)
  }
}
