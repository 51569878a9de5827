import { answerParent } from '../../../support/answer-parent.ts'
import { RedisServer } from '../../../support/redis-server.ts'

const server = await RedisServer.start()
answerParent(() => server.pid)
