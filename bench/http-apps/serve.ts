import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import { answer, type Handler } from '../process/answer.ts'

/** Serves the application on a free port and tells the parent which; `handlers` answer what else it asks. */
export async function serve(
  application: RequestListener,
  handlers: Readonly<Record<string, Handler>> = {},
): Promise<void> {
  const server = createServer(application).listen(0, '127.0.0.1')
  await once(server, 'listening')
  answer({ address: () => server.address(), ...handlers })
}
