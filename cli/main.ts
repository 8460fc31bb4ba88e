#!/usr/bin/env -S node --max-semi-space-size=8
// The `longshore` command. Everything is in `program.ts`; this file only joins it to the process.
import { runCli } from './program.ts';

process.exitCode = await runCli(process.argv.slice(2), {
  stdout: process.stdout,
  stderr: process.stderr,
  env: process.env,
  cwd: process.cwd(),
});
// Nothing may hold a finished command: a Worker's native runtime or a keep-alive socket would.
process.exit();
