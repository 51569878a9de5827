import { IncomingMessage } from 'node:http'
import { Socket } from 'node:net'
import { expect, it } from 'vitest'
import { isEmptyAfterAll } from '../../src/http/request-content.ts'

it('I3: does not wait for a body whose client has gone', async () => {
  const request = new IncomingMessage(new Socket())
  request.headers['transfer-encoding'] = 'chunked'
  request.destroy()
  await new Promise((resolve) => request.once('close', resolve))
  expect(await isEmptyAfterAll(request)).toBe(false)
})
