#!/usr/bin/env node
// Starts the binary of oneact in place of this process, as far as Node can: with its streams, its signals and its end.

import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { constants } from "node:os";

import { findBinary } from "../dist/binary.js";

/** The signals that a program can be told to stop or to look with. Node keeps SIGUSR1 for its debugger. */
const passedOn = ["SIGHUP", "SIGINT", "SIGQUIT", "SIGTERM", "SIGUSR2", "SIGALRM"];
/** Of these, a terminal sends the following to all processes in its foreground, so the binary has them already. */
const ofTerminal = ["SIGINT", "SIGQUIT"];

/** Whether this process is in the foreground of its terminal. */
function isInForeground() {
  // After the name in parentheses: state, parent, process group, session, terminal, foreground process group.
  const [, , group, , , foreground] = readFileSync("/proc/self/stat", "utf8").split(") ").at(-1).split(" ");
  return group === foreground;
}

function fail(error) {
  console.error(`oneact: ${error.message}`);
  process.exit(127);
}

function start() {
  try {
    return spawn(findBinary(undefined, process.env), process.argv.slice(2), { stdio: "inherit" });
  } catch (error) {
    return fail(error);
  }
}

// They are caught before the start, so that none is lost.
for (const signal of passedOn) {
  process.on(signal, () => {
    if (!ofTerminal.includes(signal) || !isInForeground()) child.kill(signal);
  });
}
const child = start();
child.on("error", (error) => child.pid === undefined && fail(error));
child.on("exit", (code, signal) => {
  if (signal === null) process.exit(code);
  // Ends by the same signal. If that is ignored, the exit code says it.
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
  setTimeout(() => process.exit(128 + constants.signals[signal]), 100);
});
