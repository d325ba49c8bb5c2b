// The client: how oneact is run.

import { findBinary } from "./binary.js";
import type { Command } from "./child.js";
import type { Outcome, Success } from "./outcome.js";
import { run, type RunLimits } from "./run.js";
import { Session, type SessionOptions } from "./session.js";
import { holding, Task, type TaskOptions } from "./task.js";
import type { JsonObject, TaskDocument } from "./types.js";

/** How oneact is run. */
export interface OneactOptions {
  /** The root (`--root`). Default: the one that oneact finds. */
  readonly root?: string | undefined;
  /** The path of the binary. Default: `$ONEACT_BINARY`, else the one that npm installed, else the one on `$PATH`. */
  readonly binary?: string | undefined;
  /** Variables beside those of this process; `undefined` removes one. */
  readonly env?: Readonly<Record<string, string | undefined>> | undefined;
  /** Flags of every run and session, such as `["--profile", "assistant"]`. */
  readonly args?: readonly string[] | undefined;
}

export interface RunOptions extends RunLimits {
  /** Checks everything, shows what would be done, and starts nothing. */
  readonly dryRun?: boolean | undefined;
  /** The hash of a dry run: a file plan is applied only if it makes exactly that change. */
  readonly expect?: string | undefined;
  /** Further flags of this run, such as `["--wait", "10m"]`. */
  readonly args?: readonly string[] | undefined;
}

/** Performs tasks with the binary `oneact`. Nothing is started by the constructor. */
export class Oneact {
  readonly #options: OneactOptions;

  constructor(options: OneactOptions = {}) {
    this.#options = options;
  }

  /** Performs a task with one run of oneact. A failure of the task is an outcome, not an exception. */
  async perform(task: Task | TaskDocument, options: RunOptions = {}): Promise<Outcome> {
    const { document, inputs } = task instanceof Task ? task : Task.of(task);
    return holding(inputs, () => this.#run([], JSON.stringify(document), options));
  }

  /** Calls a capability of the catalog with one run of oneact. A failure of the task is thrown. */
  async call(capability: string, parameters: JsonObject = {}, options: TaskOptions & RunOptions = {}): Promise<Success> {
    const outcome = await this.perform(Task.call(capability, parameters, options), options);
    return outcome.orThrow();
  }

  /** Performs the stored call of a request that a person has approved. */
  async performApproved(approvalId: string, options: RunLimits = {}): Promise<Outcome> {
    // oneact takes the first characters of an id, too: of "", it would perform the only request.
    if (!/^apr_[0-9a-z]{8}$/.test(approvalId)) {
      throw new TypeError(`the id of an approval is apr_ and 8 letters or digits, not ${JSON.stringify(approvalId)}`);
    }
    return this.#run([`--approved=${approvalId}`], "", options);
  }

  /** Starts `oneact serve catalog`, one process for many calls. */
  async session(options: SessionOptions = {}): Promise<Session> {
    const named = options.sessionId === undefined ? [] : [`--session=${options.sessionId}`];
    return Session.start(this.#command(["serve", "catalog", ...named], options.args), options);
  }

  #run(flags: readonly string[], task: string, options: RunOptions): Promise<Outcome> {
    const { dryRun, expect, args = [] } = options;
    const mode = [...(dryRun ? ["--dry-run"] : []), ...(expect === undefined ? [] : [`--expect=${expect}`])];
    return run(this.#command(["run", ...flags], [...mode, ...args]), task, options);
  }

  #command(verb: readonly string[], args: readonly string[] = []): Command {
    const { root, binary, args: always = [] } = this.#options;
    const env = { ...process.env, ...this.#options.env };
    const place = root === undefined ? [] : [`--root=${root}`];
    return { binary: findBinary(binary, env), args: [...verb, ...place, ...always, ...args], env };
  }
}
