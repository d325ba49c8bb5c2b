// A process of oneact: started, stopped, and how it ended.

import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";

import type { Environment } from "./binary.js";
import { BinaryMissing, type Ending } from "./errors.js";

/** A command line of oneact. */
export interface Command {
  readonly binary: string;
  readonly args: readonly string[];
  readonly env: Environment;
}

/** The most that is read of an answer. An envelope of the largest task has less. */
export const mostBytes = 64 * 1024 * 1024;

/** The most that is kept of stderr. */
const mostStderr = 8 * 1024;

/** How long the streams of a process that has ended may stay open, because another process has inherited them. */
const drainMs = 1000;

/** The longest time that `setTimeout` can wait. */
const longestMs = 2 ** 31 - 1;

export class Child {
  /** How the process ended, once it has ended and its output was read. Rejected if it could not be started. */
  readonly ended: Promise<Ending>;
  readonly #process: ChildProcessWithoutNullStreams;
  #stderr = Buffer.alloc(0);
  #isEnded = false;
  #killing: NodeJS.Timeout | undefined;

  constructor({ binary, args, env }: Command, onOutput: (chunk: Buffer) => void) {
    const failed = (cause: Error) => new BinaryMissing(`${binary} cannot be started: ${cause.message}`, { cause });
    try {
      this.#process = spawn(binary, args, { env, stdio: "pipe" });
    } catch (cause) {
      throw failed(cause as Error);
    }
    const child = this.#process;
    // A process that ends early does not read its input; how it ended says why.
    child.stdin.on("error", () => {});
    child.stdout.on("data", onOutput);
    child.stderr.on("data", (chunk: Buffer) => {
      this.#stderr = Buffer.concat([this.#stderr, chunk]).subarray(-mostStderr);
    });
    this.ended = new Promise((resolve, reject) => {
      // An error of a process that was started is a signal that came too late.
      child.on("error", (cause) => child.pid === undefined && reject(failed(cause)));
      child.once("exit", () => {
        this.#isEnded = true;
        clearTimeout(this.#killing);
        const draining = setTimeout(() => {
          child.stdout.destroy();
          child.stderr.destroy();
        }, drainMs);
        child.once("close", () => clearTimeout(draining));
      });
      child.once("close", (exitCode, signal) => {
        resolve({ exitCode, signal, stderr: new TextDecoder().decode(this.#stderr) });
      });
    });
    // Whoever waits for the end gets the error.
    this.ended.catch(() => {});
  }

  write(text: string): void {
    this.#process.stdin.write(text);
  }

  /** Ends the input, after this last text. */
  end(text = ""): void {
    this.#process.stdin.end(text);
  }

  /** Asks the process to stop, and kills it if it has not ended after `graceMs`. */
  stop(graceMs: number): void {
    if (this.#isEnded) return;
    this.#process.kill("SIGTERM");
    this.killAfter(graceMs);
  }

  /** Kills the process if it has not ended after this time. */
  killAfter(graceMs: number): void {
    if (!this.#isEnded) this.#killing ??= setTimeout(() => this.kill(), Math.min(graceMs, longestMs));
  }

  kill(): void {
    this.#process.kill("SIGKILL");
  }
}

/** Refuses a duration that is none. */
export function checkDuration(name: string, milliseconds: number | undefined): void {
  if (milliseconds === undefined || milliseconds >= 0) return;
  throw new RangeError(`\`${name}\` is a number of milliseconds from 0 on, not ${milliseconds}`);
}

/** Calls `act` after this time, or never if there is none. Returns what cancels it. */
export function after(milliseconds: number | undefined, act: () => void): () => void {
  if (milliseconds === undefined || milliseconds > longestMs) return () => {};
  const timer = setTimeout(act, milliseconds);
  return () => clearTimeout(timer);
}

/** What waits for each signal. Node warns of a leak if a signal has more than ten listeners, so it has one for all. */
const waiting = new WeakMap<AbortSignal, { readonly acts: Set<() => void>; readonly abort: () => void }>();

/** Calls `act` when the signal is aborted. Returns what ends the waiting. */
export function onAbort(signal: AbortSignal | undefined, act: () => void): () => void {
  if (signal === undefined) return () => {};
  const { acts, abort } = waiting.get(signal) ?? listening(signal);
  acts.add(act);
  return () => {
    if (!acts.delete(act) || acts.size > 0) return;
    signal.removeEventListener("abort", abort);
    waiting.delete(signal);
  };
}

function listening(signal: AbortSignal) {
  const acts = new Set<() => void>();
  const listener = { acts, abort: () => acts.forEach((act) => act()) };
  signal.addEventListener("abort", listener.abort, { once: true });
  waiting.set(signal, listener);
  return listener;
}
