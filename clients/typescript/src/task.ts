// Tasks, and the files that they take as inputs.

import { createHash, randomUUID } from "node:crypto";
import { mkdir, rm, rmdir, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

import type { InputRef, JsonObject, PlanDocument, TaskDocument, WrappedTask } from "./types.js";

/** A file, or the URI of an object or a source, as the input of a task. */
export class InputFile {
  readonly uri: string;
  readonly refId: string | null;

  /** A relative path starts at the working directory of this process. */
  constructor(path: string | URL, options: { readonly refId?: string | undefined } = {}) {
    const text = String(path);
    this.uri = /^[a-z][a-z0-9+.-]*:\/\//i.test(text) ? text : pathToFileURL(resolve(text)).href;
    this.refId = options.refId ?? null;
  }
}

/** The directory of the files of this process: made when it is needed, removed with its last file. */
const ownName = `oneact-inputs-${randomUUID()}`;

/**
 * Bytes as the input of a task. They are in a file while a call needs them. Equal bytes have the same path in this process, so
 * that a task that is sent again is the same request.
 */
export class InputData {
  readonly uri: string;
  readonly refId: string | null;
  readonly #bytes: Uint8Array;
  readonly #directory: string;
  readonly #path: string;

  constructor(
    bytes: Uint8Array | string,
    options: {
      /** The end of the file's name, such as ".wav". */
      readonly suffix?: string | undefined;
      readonly refId?: string | undefined;
      /** Where the file is made, for tools that only read in some places. Default: the directory of temporary files. */
      readonly directory?: string | undefined;
    } = {},
  ) {
    // A copy, because the caller may go on to write into the buffer.
    this.#bytes = typeof bytes === "string" ? new TextEncoder().encode(bytes) : new Uint8Array(bytes);
    this.#directory = join(resolve(options.directory ?? tmpdir()), ownName);
    const suffix = options.suffix ?? "";
    if (suffix.includes("/")) throw new TypeError(`a suffix is the end of a file's name, not ${suffix}`);
    const name = createHash("sha256").update(this.#bytes).digest("hex");
    this.#path = join(this.#directory, name + suffix);
    this.uri = pathToFileURL(this.#path).href;
    this.refId = options.refId ?? null;
  }

  /** Writes the file, if no other call has. Returns what removes it after the last call. */
  async hold(): Promise<() => Promise<void>> {
    await inTurn(async () => {
      const users = held.get(this.#path) ?? 0;
      if (users === 0) await this.#write();
      held.set(this.#path, users + 1);
    });
    return () =>
      inTurn(async () => {
        const users = (held.get(this.#path) ?? 0) - 1;
        held.set(this.#path, users);
        if (users === 0) await this.#remove();
      });
  }

  async #write(): Promise<void> {
    await mkdir(this.#directory, { mode: 0o700 }).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== "EEXIST") throw error;
    });
    try {
      await writeFile(this.#path, this.#bytes, { mode: 0o600 });
    } catch (error) {
      await this.#remove();
      throw error;
    }
  }

  async #remove(): Promise<void> {
    held.delete(this.#path);
    await rm(this.#path, { force: true });
    // Another file may be in it.
    await rmdir(this.#directory).catch(() => {});
  }
}

/** How many calls use each file of `InputData`. */
const held = new Map<string, number>();

/** The last of the writes and removals, which follow one another: none meets what another has done by half. */
let last: Promise<void> = Promise.resolve();

function inTurn(act: () => Promise<void>): Promise<void> {
  const done = last.then(act);
  last = done.catch(() => {});
  return done;
}

/** An input: a file, bytes, or a reference as it stands in a task. */
export type Input = InputFile | InputData | InputRef;

/** The references to these inputs. Without a name of its own, the third one is `store_3`. */
export function references(inputs: readonly Input[]): InputRef[] {
  return inputs.map((input, at) => {
    if (!(input instanceof InputFile || input instanceof InputData)) return input;
    const ref_id = input.refId ?? `store_${at + 1}`;
    return { ref_id, storage_uri: input.uri, status: ref_id.startsWith("src_") ? "reference" : "stored" };
  });
}

/** Writes the inputs that are bytes, for as long as `use` takes. */
export async function holding<T>(inputs: readonly Input[], use: () => Promise<T>): Promise<T> {
  const releases: (() => Promise<void>)[] = [];
  try {
    for (const input of inputs) if (input instanceof InputData) releases.push(await input.hold());
    return await use();
  } finally {
    for (const release of releases) await release();
  }
}

/** What can stand beside the parameters of a call. docs/task.md and docs/ledger.md of oneact describe all of it. */
export interface TaskOptions {
  readonly inputs?: readonly Input[] | undefined;
  /** The names of the files that the task must make. */
  readonly outputs?: readonly string[] | undefined;
  /** Only a task of the same session can be a repetition. Default: a new session. */
  readonly sessionId?: string | undefined;
  /** Default: a new name. */
  readonly taskId?: string | undefined;
  /** The name of this delivery: a second one with the same key gets the answer of the first. */
  readonly idempotencyKey?: string | undefined;
  /** Part of the request: another salt is another request. */
  readonly salt?: string | undefined;
  readonly attempt?: number | undefined;
  /** The operation that opened the grant for this call. */
  readonly under?: string | undefined;
}

/** What can stand beside a plan. */
export type PlanOptions = Pick<TaskOptions, "sessionId" | "taskId" | "idempotencyKey" | "salt" | "attempt">;

/** A task for `Oneact.perform`. One task that is performed twice is one delivery, if it names its session. */
export class Task<D extends TaskDocument = TaskDocument> {
  /** The JSON that oneact reads. */
  readonly document: D;
  /** The inputs whose bytes are written for a call. */
  readonly inputs: readonly Input[];

  private constructor(document: D, inputs: readonly Input[] = []) {
    this.document = document;
    this.inputs = inputs;
  }

  /** A call of a capability of the catalog. */
  static call(capability: string, parameters: JsonObject = {}, options: TaskOptions = {}): Task<WrappedTask> {
    const { inputs = [], outputs, sessionId, taskId = `call_${randomUUID().slice(0, 8)}` } = options;
    const dispatch = {
      task_id: taskId,
      capability_ids: [capability],
      parameters,
      ...(inputs.length > 0 && { input_refs_resolved: references(inputs) }),
      ...(outputs !== undefined && { output_refs_expected: [...outputs] }),
      ...delivery(options),
      ...(options.under !== undefined && { under: options.under }),
    };
    return new Task({ ...(sessionId !== undefined && { metadata: { session_id: sessionId } }), dispatch }, inputs);
  }

  /** A file plan. */
  static plan(plan: PlanDocument, options: PlanOptions = {}): Task<PlanDocument> {
    const { sessionId, taskId } = options;
    const given = typeof plan.metadata === "object" ? plan.metadata : null;
    const named = sessionId !== undefined && { metadata: { ...given, session_id: sessionId } };
    return new Task({ ...plan, ...named, ...delivery(options), ...(taskId !== undefined && { task_id: taskId }) });
  }

  /** Any other document: a proposal, a message, a task of several capabilities. */
  static of<D extends TaskDocument>(document: D): Task<D> {
    return new Task(document);
  }
}

function delivery({ idempotencyKey, salt, attempt }: PlanOptions) {
  return {
    ...(idempotencyKey !== undefined && { idempotency_key: idempotencyKey }),
    ...(salt !== undefined && { salt }),
    ...(attempt !== undefined && { attempt }),
  };
}
