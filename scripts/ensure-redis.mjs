// Sees to it that the tests find a redis-server: the one on the PATH (or that REDIS_SERVER names), else Debian's
// package. Fault tests pause, kill and starve servers of their own, so they need one even when REDIS_URL is set.
import { spawnSync } from 'node:child_process'

// The service must not start: a policy file of our own forbids it while there is none of the administrator's.
const INSTALL = `
set -e
export DEBIAN_FRONTEND=noninteractive RUNLEVEL=1
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
  trap 'rm -f "$policy"' EXIT
  trap 'exit 1' INT TERM
  printf '#!/bin/sh\\nexit 101\\n' > "$policy"
  chmod +x "$policy"
fi
get() { apt-get -qq -o Dpkg::Use-Pty=0 -o DPkg::Lock::Timeout=60 "$@"; }
add() { get install -y --no-install-recommends redis-server; }
add 2>/dev/null || { get update && add; }
`

const binary = process.env.REDIS_SERVER ?? 'redis-server'
if (!answers(binary, ['--version'])) {
  if (process.env.REDIS_SERVER || !install() || !answers(binary, ['--version'])) {
    console.error(
      `The tests need ${binary}, which is not there and could not be installed with apt: install Redis.`,
    )
    process.exit(1)
  }
}

function answers(command, args) {
  return spawnSync(command, args, { stdio: 'ignore' }).status === 0
}

function install() {
  const root = process.getuid?.() === 0
  if (!answers('apt-get', ['--version']) || !(root || answers('sudo', ['-n', 'true']))) return false
  console.error('No redis-server on the PATH: installing it with apt.')
  const [command, ...args] = [...(root ? [] : ['sudo', '-n']), 'sh', '-c', INSTALL]
  return spawnSync(command, args, { stdio: ['ignore', 2, 2] }).status === 0
}
