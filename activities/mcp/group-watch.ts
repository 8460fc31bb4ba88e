// A process that outlives this one by a second: it ends the servers' process groups when this process is gone, however it
// went (`kill -9`, SIGTERM without a handler, out of memory). One for all servers; a shell that waits on a pipe.
import { spawn, type ChildProcess } from 'node:child_process';

/** Keeps the last line it was given, a list of groups; the pipe ends with this process. */
const SCRIPT = [
  'groups=',
  'while read -r line; do groups=$line; done',
  'for group in $groups; do kill -s TERM -- "-$group" 2>/dev/null; done',
  '[ -n "$groups" ] && sleep 1',
  'for group in $groups; do kill -s KILL -- "-$group" 2>/dev/null; done',
].join('\n');

let watch: ChildProcess | undefined;

/** Tells the watch which groups there are, starting it if need be. Never raises: without it only `kill -9` leaves traces. */
export function watchGroups(groups: ReadonlySet<number>): void {
  if (groups.size > 0 && !isRunning(watch)) watch = start();
  if (isRunning(watch)) watch?.stdin?.write(`${[...groups].join(' ')}\n`);
}

function isRunning(child: ChildProcess | undefined): boolean {
  return child?.pid !== undefined && child.exitCode === null && child.signalCode === null;
}

function start(): ChildProcess {
  // A session of its own: Ctrl-C on the terminal must not reach it before it has done its work.
  const child = spawn('/bin/sh', ['-c', SCRIPT], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
    cwd: '/',
    env: { PATH: '/usr/bin:/bin' },
  });
  child.on('error', () => {});
  child.stdin.on('error', () => {});
  child.unref();
  // A pipe to a child is a socket, which can be let go of.
  if ('unref' in child.stdin && typeof child.stdin.unref === 'function') child.stdin.unref();
  return child;
}
