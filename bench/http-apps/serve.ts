import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import { answer } from '../process/answer.ts'

/** Serves the application on a free port and tells the parent which. */
export async function serve(application: RequestListener): Promise<void> {
  const server = createServer(application).listen(0, '127.0.0.1')
  await once(server, 'listening')
  answer({ address: () => server.address() })
}
