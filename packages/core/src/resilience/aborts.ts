import { OneListener } from '../one-listener.ts'

/** One signal may end many calls: that of a process that shuts down, say. */
export const aborts: OneListener<AbortSignal> = new OneListener((signal, heard) => {
  signal.addEventListener('abort', heard)
  return () => signal.removeEventListener('abort', heard)
})
